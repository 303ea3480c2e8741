// Writing behind: collective writes return when their bytes are staged, and a thread writes them.
//
// Invariants: one thread a file and process writes its jobs in the order in which they were staged.
// Where another rank has staged the same place in an earlier collective write, staging waits until
// that is written: so each byte has one order of writers. Staged bytes of a process are at most
// its budget. The thread makes no call of MPI. A failure is kept and thrown once, by the rank's
// next collective call, which agrees on it. A process that ends without closing writes what waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "mpiio/pending.hpp"
#include "mpiio/sink.hpp"
#include "mpiio/staging.hpp"

namespace sluice::mpiio {

class Behind final : public Sink {
 public:
  /// `storage`: of the thread alone.
  Behind(std::unique_ptr<storage::File> storage, const storage::FileIdentity& identity,
         std::shared_ptr<Board> board);
  /// Waits until all is written.
  ~Behind() override;
  Behind(const Behind&) = delete;
  Behind& operator=(const Behind&) = delete;

  /// A collective write of about `bytes` on this rank: `work` stages them by write(). Then all is
  /// told to the other ranks, and will be written. Where something throws, memory that nobody will
  /// write goes back to the budget, for which other files may wait.
  template <class Work>
  void stage(std::int64_t bytes, Work&& work) {
    ++call_;
    wanted_ = bytes;
    try {
      work();
      if (current_) {
        post();
      }
    } catch (...) {
      current_.reset();
      throw;
    }
  }
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override;

  /// Until all of this rank is written.
  void wait_own();
  /// The same, and closes the thread's storage. Nothing is staged after it. Throws what the close
  /// does.
  void close();
  /// Throws the first failure of the thread since the last time.
  void rethrow();
  /// Of this rank, so far.
  std::int64_t staged_bytes() const { return staged_bytes_; }
  /// Seconds in which the thread wrote.
  double hidden_s();

 private:
  void post();
  void start();
  void work();
  void write_job(const StagedJob& job);

  const std::unique_ptr<storage::File> storage_;
  const storage::FileIdentity identity_;
  const std::shared_ptr<Board> board_;
  std::int64_t call_ = 0;    ///< collective writes that have begun
  std::int64_t wanted_ = 0;  ///< bytes of this call that are still to come
  std::int64_t staged_bytes_ = 0;
  std::unique_ptr<StagedJob> current_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<StagedJob>> queue_;  ///< the one being written stays in front
  std::exception_ptr failure_;
  double hidden_s_ = 0;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace sluice::mpiio
