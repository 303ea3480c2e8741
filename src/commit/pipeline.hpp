// Commits that are on their way: their data is being written, their metadata waits for it.
//
// Invariants: commits are published in the order of their numbers, each when every writer's part of
// it has arrived (and is synced, if it is to be durable); after one that failed nothing is
// published until restart(); rank 0 publishes, in a thread where the storage takes writes in the
// background, else within poll() and wait(); nobody but the pipeline uses the publisher while a
// commit is on its way. The commits under way are bounded by the staging, and by commits_max.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "commit/publisher.hpp"
#include "exec/board.hpp"
#include "exec/write_behind.hpp"
#include "layout/layout.hpp"

namespace sluice::commit {

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
  Pipeline(const Ground& ground, std::unique_ptr<exec::Board> board);
  /// Leaves what is on its way where it is.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// The number of the next commit. Every rank calls it, and then all of them come to push() or
  /// doom() on rank 0, and to arrive() on writers.
  std::uint64_t begin();
  /// On a writer: everything given to the writer so far belongs to `number`; `sync`: of the file,
  /// after it.
  void arrive(std::uint64_t number, storage::File& file, bool sync);
  /// On rank 0.
  void push(std::uint64_t number, layout::MetadataUpdate update, bool synced,
            std::int64_t modified_ns);
  /// On rank 0: the commit failed already, and is not published.
  void doom(std::uint64_t number, const std::exception_ptr& failure);

  std::uint64_t begun() const noexcept { return begun_; }
  /// Commits up to this number are settled: committed, or failed.
  std::uint64_t settled() { return board_->settled(); }
  /// When commit `number`, one of the last commits_max, was settled, by model::now_s; 0: it is on
  /// its way. To the moment on rank 0, elsewhere when it is asked for.
  double settled_s(std::uint64_t number);
  /// The first that failed; all later ones did too.
  exec::Mark failed() { return board_->failed(); }
  /// Moves on what can be moved without waiting.
  void poll();
  /// Until commit `number` is settled; Error timeout names the writers that are missing.
  void wait(std::uint64_t number);
  /// At most so many seconds; is it settled then?
  bool wait_at_most(std::uint64_t number, double seconds);
  /// Until everything is settled and told.
  void wait_for_all();
  /// Collective, after wait_for_all() on every rank: forgets a failure.
  void restart();

 private:
  struct Commit {
    std::uint64_t number = 0;
    layout::MetadataUpdate update;
    bool synced = false;
    std::int64_t modified_ns = 0;
    std::exception_ptr failure;
  };
  void enqueue(Commit commit);
  bool advance();
  void publish(const Commit& commit);
  void run();

  Ground ground_;
  std::unique_ptr<exec::Board> board_;
  std::uint64_t begun_ = 0;
  // rank 0
  std::mutex mutex_;
  std::deque<std::shared_ptr<const Commit>> commits_;
  std::array<double, 2 * commits_max> settled_s_{};  ///< by number, modulo
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sluice::commit
