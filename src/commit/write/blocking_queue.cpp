#include "commit/write/blocking_queue.hpp"

#include "exec/transport/agree.hpp"

namespace sluice::commit {

void BlockingQueue::before_planning() { planner_->publisher().require_sound(); }

void BlockingQueue::arrive(const std::exception_ptr& failure, bool synced,
                           const CommitPlanner::Update& update) {
  const auto met = failure ? failure : exec::failure_of([&] {
    if (planner_ != nullptr) {
      planner_->publisher().write_fresh(update.metadata);
    }
    if (synced) {
      data_.sync();
    }
  });
  exec::agree(transport_, met);
}

void BlockingQueue::publish(const FileCommit& commit, CommitPlanner::Update update) {
  exec::on_root(transport_, 0, [&] {
    planner_->publisher().publish(update.metadata, commit.synced, update.modified_ns,
                                  update.unsynced);
    planner_->committed();
    return std::vector<std::byte>{};
  });
}

}  // namespace sluice::commit
