// Writes staged bytes while the next ones are packed, with a few buffers and one thread.
//
// Invariants: the thread makes storage calls only, never MPI; at most `buffers` writes are under
// way or filling (the bound of the queue); writes and tasks are carried out in the order in which
// they were given; after a failure nothing more is written until a task has received it or drain()
// has thrown it. The thread starts with the first submit, so that steps which fit one buffer never
// have one. Buffers come from the process's pool, and go back to it when nothing is under way.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "exec/write/staging.hpp"
#include "storage/background_thread.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

/// Who executes what was submitted.
enum class Pace : std::uint8_t {
  at_once,     ///< submit() itself (storages for tests)
  in_thread,   ///< a thread
  when_asked,  ///< pump(), and threads that wait: as late as possible, but in one thread
};

class WriteBehind {
 public:
  /// Runs after everything that was submitted before it. `earlier`: the first failure since the
  /// last task, which is reported nowhere else. Must not throw.
  using Task = std::function<void(const std::exception_ptr& earlier)>;

  /// `fewest` buffers there are whatever the budget of the process; more where it has room.
  WriteBehind(std::size_t buffer_bytes, std::size_t buffers, Pace pace,
              std::size_t fewest = std::numeric_limits<std::size_t>::max(),
              const StagingLimits& limits = {}, storage::Cores cores = storage::Cores::any);
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  /// A buffer to fill; waits until one is free. Return it by submit() or put_back().
  Staging* take();
  void put_back(Staging* staging);
  /// Writes [from, to) of the buffer; `base` is the file offset of the buffer's first byte.
  void submit(storage::File& file, Staging* staging, std::uint64_t base, std::size_t from,
              std::size_t to);
  /// The same for several pieces of the buffer, ascending in the file.
  void submit(storage::File& file, Staging* staging, std::vector<storage::WritePiece> pieces);
  /// Any other work; an exception counts as a failed write. It also runs after a failure, which it
  /// receives as its argument.
  void submit(std::function<void(bool has_failed)> work);
  void submit_task(Task task);
  /// when_asked: pump() does not execute it until `is_ready`.
  void submit_task(Task task, std::function<bool()> is_ready);
  /// Limits the number of buffers to this from now on; existing ones are kept.
  void limit_buffers(std::size_t buffers);
  /// when_asked: executes the oldest; false if there is none, or it is not ready.
  bool pump();
  /// Writes from the calling thread, after what was submitted; for bytes that need no staging.
  void write_through(storage::File& file, std::uint64_t offset, std::span<const std::byte> bytes);
  /// Returns when everything submitted is written; throws the first failure and clears it.
  void drain();
  /// For callers that end without finish(), because another failure is being handled: returns
  /// `staging` (may be null) and waits for what was submitted; its failure is ignored.
  void abandon(Staging* staging) noexcept;
  std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  /// Seconds that take() has waited for a buffer so far; called by the thread that takes.
  double waited_s() const noexcept { return waited_s_; }
  /// Memory of as many buffers as there ever were at once.
  std::size_t bytes() const noexcept { return most_owned_ * buffer_bytes_; }
  /// Gives the buffers that are free to the pool.
  void give_back();

 private:
  struct Job {
    Staging* staging = nullptr;
    std::function<void(bool has_failed)> work;
    Task task;
    std::function<bool()> is_ready = {};
  };
  Staging* another();
  void give_back_free();
  void enqueue(Job job);
  void run();
  void carry_out_front(std::unique_lock<std::mutex>& lock);

  std::size_t buffer_bytes_;
  std::size_t most_buffers_;
  Pace pace_;
  std::size_t fewest_buffers_;
  StagingLimits limits_;
  storage::Cores cores_;  ///< of the thread
  std::vector<std::unique_ptr<Staging>> owned_;
  std::size_t most_owned_ = 0;
  std::vector<Staging*> free_;  ///< of the owned ones; the one used last at the end
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> queue_;
  bool busy_ = false;
  bool stop_ = false;
  std::exception_ptr failure_;
  double waited_s_ = 0;
  std::thread thread_;
};

}  // namespace sluice::exec
