// Writes staged bytes while the next ones are packed, with a few buffers and one thread.
//
// Invariants: the thread makes storage calls only, never MPI calls; at most `buffers` writes are in
// progress or being filled (the bound of the queue); writes and tasks are executed in the order of
// submission; after a failure nothing more is written until a task or drain() has received it. The
// thread starts with the first submit, so that steps which fit one buffer never start it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::exec {

/// Memory of a fixed size, aligned to huge pages.
class Staging {
 public:
  explicit Staging(std::size_t bytes);
  std::byte* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(std::byte* at) const noexcept;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_;
};

/// Lets the calling thread run on every core allowed to the process: the rank's own core, to which
/// mpirun may have bound it, is busy computing. A hint: if it is refused, nothing changes.
void unbind_thread() noexcept;

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

  WriteBehind(std::size_t buffer_bytes, std::size_t buffers, Pace pace);
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
  /// Memory of all buffers ever allocated.
  std::size_t bytes() const noexcept { return owned_.size() * buffer_bytes_; }

 private:
  struct Job {
    Staging* staging = nullptr;
    std::function<void(bool has_failed)> work;
    Task task;
    std::function<bool()> is_ready = {};
  };
  void enqueue(Job job);
  void run();
  void carry_out_front(std::unique_lock<std::mutex>& lock);

  std::size_t buffer_bytes_;
  std::size_t most_buffers_;
  Pace pace_;
  std::vector<std::unique_ptr<Staging>> owned_;
  std::vector<Staging*> free_;
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
