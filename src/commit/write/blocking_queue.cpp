#include "commit/write/blocking_queue.hpp"

#include <utility>

namespace sluice::commit {

void BlockingQueue::before_planning() { planner_->publisher().require_sound(); }

void BlockingQueue::arrive(const std::exception_ptr& failure, bool synced,
                           const CommitPlanner::Update& update) {
  std::exception_ptr met = failure;
  if (!met) {
    met = exec::failure_of([&] {
      if (planner_ != nullptr) {
        planner_->publisher().write_fresh(update.metadata);
      }
      if (synced) {
        data_.sync();
      }
    });
  }
  failures_ = exec::failures_at_root(transport_, 0, std::move(met));
}

void BlockingQueue::publish(const FileCommit& commit, CommitPlanner::Update update) {
  const exec::Failures before = std::exchange(failures_, {});
  const auto publish_here = [&] {
    planner_->publisher().publish(update.metadata, commit.synced, update.modified_ns,
                                  update.unsynced);
    planner_->planned();
    planner_->committed();
  };
  exec::on_root(transport_, publish_here, before);
}

}  // namespace sluice::commit
