// A queue of depth one: a commit is in the file when publish() returns. The ranks learn the
// progress of each other by collective calls.
#pragma once

#include "commit/write/commit_queue.hpp"
#include "commit/write/data_writer.hpp"
#include "exec/transport/agree.hpp"

namespace sluice::commit {

class BlockingQueue final : public CommitQueue {
 public:
  /// `planner`: that of rank 0, else null. The arguments must outlive the object.
  BlockingQueue(exec::Transport& transport, DataWriter& data, CommitPlanner* planner)
      : transport_(transport), data_(data), planner_(planner) {}

  void before_planning() override;
  void begin(const plan::Plan&, bool) override {}
  void arrive(const std::exception_ptr& failure, bool synced,
              const CommitPlanner::Update& update) override;
  void publish(const FileCommit& commit, CommitPlanner::Update update) override;

 private:
  exec::Transport& transport_;
  DataWriter& data_;
  CommitPlanner* planner_;
  exec::Failures failures_;  ///< of this commit, between arrive() and publish()
};

}  // namespace sluice::commit
