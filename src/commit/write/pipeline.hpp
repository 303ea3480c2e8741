// Commits that are on their way: their data is being written, their metadata waits for it.
//
// Invariants: commits are published in the order of their numbers, each when every writer's part of
// it has arrived (and is synced, if it is to be durable); after one that failed nothing is
// published until restart(); rank 0 publishes, in a thread where the storage takes writes in the
// background, else within poll() and wait(); nobody but the pipeline uses the publisher while a
// commit is on its way. The commits under way are bounded by the staging, and by commits_max.
// What is encoded behind the call is placed in the same way and order, each round of a commit when
// all writers have offered the sizes of theirs; after a failure writers are answered that, and
// nothing is placed until restart().
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "commit/publish/publisher.hpp"
#include "exec/encode/encode_behind.hpp"
#include "exec/notify/completion_tracker.hpp"
#include "exec/write/write_behind.hpp"
#include "layout/layout.hpp"

namespace sluice::commit {

/// Of one round of a commit that is encoded behind the call.
struct Placed {
  std::vector<std::byte> plan;           ///< round 0: for every writer
  std::vector<std::uint64_t> addresses;  ///< of the tiles
  layout::MetadataUpdate update = {};    ///< last round: of the commit
};

/// How rank 0 places such a commit: place(round, tiles) is called once a round, in order.
struct Placing {
  std::uint64_t rounds = 0;
  std::function<Placed(std::uint64_t, std::span<const layout::EncodedTile>)> place;
};

class Pipeline {
 public:
  /// So many commits may be on their way; their metadata is held in memory.
  static constexpr std::uint64_t commits_max = 64;

  struct Ground {
    exec::Transport& transport;
    exec::WriteBehind& writer;  ///< of this rank's data
    Publisher* publisher;       ///< on rank 0
    bool has_thread;
    double timeout_s;
  };
  Pipeline(const Ground& ground, std::unique_ptr<exec::CompletionTracker> tracker);
  /// Leaves what is on its way where it is.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// The number of the next commit. Every rank calls it, and then all of them come to push() or
  /// fail() on rank 0, and to arrive() on writers.
  std::uint64_t begin();
  /// On a writer: everything given to the writer so far belongs to `number`; `sync`: of the file,
  /// after it.
  void arrive(std::uint64_t number, storage::File& file, bool sync);
  /// On rank 0, before any bytes of commit `number` move: it is placed when its sizes have come,
  /// and published once it was pushed too (its update is then that of its last round).
  void begin_placing(std::uint64_t number, std::int64_t modified_ns, Placing placing);
  /// Has everything been placed that was begun? True elsewhere than on rank 0.
  bool has_placed_all();
  /// On rank 0.
  void push(std::uint64_t number, layout::MetadataUpdate update, bool synced,
            std::int64_t modified_ns);
  /// On rank 0: the commit failed already, and is not published.
  void fail(std::uint64_t number, const std::exception_ptr& failure);

  std::uint64_t begun() const noexcept { return begun_; }
  /// Commits up to this number are settled: committed, or failed.
  std::uint64_t settled() { return tracker_->settled(); }
  /// When commit `number`, one of the last commits_max, was settled, by model::now_s; 0: it is on
  /// its way. To the moment on rank 0, elsewhere when it is asked for.
  double settled_s(std::uint64_t number);
  /// The first that failed; all later ones did too.
  exec::Outcome failed() { return tracker_->failed(); }
  /// Moves on what can be moved without waiting.
  void poll();
  /// Until commit `number` is settled; Error timeout names the writers that are missing.
  void wait(std::uint64_t number);
  /// Until `done`, which is asked again whenever there is news; Error timeout says what for.
  void wait_until(const std::function<bool()>& done, const std::string& what);
  /// Wakes up who waits in this process's threads, for good: an end without success.
  void stop() { tracker_->stop(); }
  exec::CompletionTracker& tracker() { return *tracker_; }
  /// At most so many seconds; is it settled then?
  bool wait_at_most(std::uint64_t number, double seconds);
  /// Until everything is settled and told.
  void wait_for_all();
  /// Until the others have taken this rank's news, at most so many seconds; have they then?
  bool wait_until_idle(double seconds);
  /// Collective, after wait_for_all() on every rank: forgets a failure.
  void restart();

 private:
  struct Commit {
    std::uint64_t number = 0;
    layout::MetadataUpdate update;
    bool synced = false;
    std::int64_t modified_ns = 0;
    std::exception_ptr failure;
    bool is_decided = false;  ///< pushed or failed
    Placing placing = {};
    std::uint64_t placed = 0;  ///< rounds
    std::vector<std::optional<exec::Offer>> offers = {};
  };
  void enqueue(Commit commit);
  void decide(std::uint64_t number, const std::function<void(Commit&)>& how);
  bool wait_for(const std::function<bool()>& done, double seconds);
  bool advance();
  bool place_some();
  void answer(Commit& commit);
  std::exception_ptr why_not_placed(const Commit& commit);
  bool publish_front();
  void publish(const Commit& commit);
  void run();

  Ground rates_;
  std::unique_ptr<exec::CompletionTracker> tracker_;
  std::uint64_t begun_ = 0;
  // rank 0
  std::mutex mutex_;
  std::deque<std::shared_ptr<Commit>> commits_;
  std::exception_ptr place_failure_;                 ///< since restart()
  std::array<double, 2 * commits_max> settled_s_{};  ///< by number, modulo
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sluice::commit
