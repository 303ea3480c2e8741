// Rank 0's part of the commits in flight: allocates compressed tiles, publishes.
//
// Invariants: works in a thread of its own if one is allowed, else within advance(); nothing else
// uses the publisher while a commit is in flight. A commit with compressed variables is placed
// round by round, each when all writers have sent the sizes of theirs, in the order of the commits;
// after a failure writers are told of it, and nothing is placed until restart().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "commit/write/commit_planner.hpp"
#include "commit/write/commit_queue.hpp"
#include "exec/encode/round_encoder.hpp"
#include "exec/notify/completion_tracker.hpp"

namespace sluice::commit {

class PublishQueue {
 public:
  /// What is given must outlive the object.
  PublishQueue(CommitPlanner& planner, exec::CompletionTracker& tracker, bool has_thread)
      : planner_(planner), tracker_(tracker), has_thread_(has_thread) {}
  /// Abandons what is in flight, and stops the tracker.
  ~PublishQueue();
  PublishQueue(const PublishQueue&) = delete;
  PublishQueue& operator=(const PublishQueue&) = delete;

  /// Before any bytes of commit `number` are sent: it is placed when its sizes have arrived, and
  /// published once it was submitted, too.
  void submit_rounds(std::uint64_t number, CommitPlanner::Rounds rounds);
  /// For a commit that was placed in rounds `update` is empty. Of `commit` only `synced` and
  /// `when_published` are used.
  void submit(std::uint64_t number, CommitPlanner::Update update, const FileCommit& commit);
  /// The commit failed already, and is not published.
  void fail(std::uint64_t number, const std::exception_ptr& failure);

  /// Has everything been placed that was begun?
  bool has_placed_all();
  /// Has it a thread, or will it have one?
  bool has_thread() const noexcept { return has_thread_; }
  /// If there is no thread: executes one step; false if there is nothing to do.
  bool advance();
  /// When commit `number`, one of the last commits_max, was settled, by model::now_s.
  double settled_s(std::uint64_t number);
  /// Clears a failure, while nothing is in flight.
  void restart();

 private:
  struct Commit {
    std::uint64_t number = 0;
    CommitPlanner::Update update = {};
    bool synced = false;
    decltype(FileCommit::when_published) when_published = {};
    std::exception_ptr failure = {};
    bool is_decided = false;  ///< submitted or failed
    CommitPlanner::Rounds rounds = {};
    std::uint64_t placed = 0;                                 ///< rounds
    std::vector<std::optional<exec::RoundSizes>> sizes = {};  ///< by writer
  };
  void enqueue(Commit commit);
  void decide(std::uint64_t number, const std::function<void(Commit&)>& how);
  bool place_some();
  void place(Commit& commit);
  bool publish_front();
  void publish(const Commit& commit);
  void run();

  CommitPlanner& planner_;
  exec::CompletionTracker& tracker_;
  std::atomic<bool> has_thread_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Commit>> commits_;
  std::exception_ptr place_failure_;                              ///< since restart()
  std::array<double, 2 * CommitQueue::commits_max> settled_s_{};  ///< by number, modulo
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sluice::commit
