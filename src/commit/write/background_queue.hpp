// A queue whose commits continue after their calls have returned: the ranks learn the progress of
// each other from the tracker, and rank 0 publishes what has arrived.
//
// Invariants: those of CommitQueue; the commits in flight are bounded by the staging, and by
// commits_max; every wait lasts at most timeout_s and its error names the missing ranks. Commits
// whose call has returned get into the file even if the queue is destroyed without wait_for_all()
// (within timeout_s): every rank has delivered its part of them, so no rank needs to take part
// except by its own calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "commit/write/commit_queue.hpp"
#include "commit/write/data_writer.hpp"
#include "commit/write/publish_queue.hpp"
#include "exec/notify/completion_tracker.hpp"

namespace sluice::commit {

/// Size: Most of its functions are those of a CommitQueue.
class BackgroundQueue final : public CommitQueue {
 public:
  struct Config {
    exec::Transport& transport;
    FileVariables& variables;
    DataWriter& data;
    CommitPlanner* planner;  ///< rank 0's, else null
    std::string path;
    double timeout_s;
  };
  /// Collective. `writers`: the ranks that have the file open. The arguments must outlive the
  /// object.
  BackgroundQueue(const Config& config, const std::vector<int>& writers);
  ~BackgroundQueue() override;
  BackgroundQueue(const BackgroundQueue&) = delete;
  BackgroundQueue& operator=(const BackgroundQueue&) = delete;

  void wait_until_placed() override;
  void begin(const plan::Plan& who, bool is_step) override;
  void arrive(const std::exception_ptr& failure, bool synced,
              const CommitPlanner::Update& update) override;
  void publish(const FileCommit& commit, CommitPlanner::Update update) override;
  std::shared_ptr<PendingCommit> last() const override { return last_; }

  void poll() override;
  void absorb() override;
  void wait(std::uint64_t number) override;
  void wait_for_all() override;
  bool in_background() const noexcept override { return true; }
  bool is_busy() override;
  bool wait_at_most(double seconds) override;
  std::uint64_t first_unplanned() override;
  std::exception_ptr failure() override;
  bool failure_was_reported() const override { return *was_reported_; }
  void lose_others() noexcept override { lost_others_ = true; }
  bool has_lost_others() const noexcept override { return lost_others_; }
  double waited_s() const override { return waited_s_; }
  void drop_failed() override;
  void restart() override;

  // -- for a commit that is encoded in the background, in place of begin()
  // --------------------------
  /// Reserves space for it. Afterwards the data writer has shared memory for it, or none.
  void make_room(const plan::Plan& who, bool is_step, bool encodes);
  /// Begins it; `rounds`: how rank 0 places it. Returns its number.
  std::uint64_t begin_rounds(CommitPlanner::Rounds rounds);
  /// On a writer, by its thread: the last addresses of commit `number` have arrived.
  void note_placed(std::uint64_t number);
  exec::CompletionTracker& tracker() noexcept { return *tracker_; }

 private:
  /// A commit in flight, and the state before it.
  struct OnWay {
    std::shared_ptr<PendingCommit> commit;
    FileVariables::State before;
  };
  void finish_on_way() noexcept;
  double settled_s(std::uint64_t number);
  void move_on();
  bool wait_for(const std::function<bool()>& done, double seconds);
  bool wait_until_settled(std::uint64_t number, double seconds);
  void require_settled(std::uint64_t number);
  bool wait_until_idle(double seconds);
  void wait_for_everything();

  const Config config_;
  const double limit_s_;  ///< of a wait
  std::unique_ptr<exec::CompletionTracker> tracker_;
  std::unique_ptr<PublishQueue> publishing_;  ///< rank 0
  std::uint64_t begun_ = 0;                   ///< number of the last commit
  std::uint64_t last_rounds_ = 0;             ///< of the last that was encoded in the background
  std::atomic<std::uint64_t> placed_ = 0;     ///< on writers: the last whose addresses have arrived
  std::deque<OnWay> on_way_;
  std::shared_ptr<PendingCommit> last_;
  std::shared_ptr<bool> was_reported_ = std::make_shared<bool>(false);
  bool lost_others_ = false;
  double waited_s_ = 0;
};

}  // namespace sluice::commit
