// Memory of staged bytes.
//
// Invariants: all jobs of a process together, their bytes and where these belong, have at most the
// budget (SLUICE_MPIIO_BUDGET_MIB); who wants more waits for writers' threads (SLUICE_TIMEOUT_S),
// and holds no job that nobody writes. Buffers are kept for the next job.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "mpiio/runs.hpp"

namespace sluice::mpiio {

/// Bytes that are written by one go of the thread.
class StagedJob {
 public:
  struct Piece {
    Run run;             ///< of the file
    std::size_t at = 0;  ///< in the memory
  };

  /// Of a capacity that the budget has; waits for it.
  explicit StagedJob(std::int64_t bytes);
  ~StagedJob();
  StagedJob(const StagedJob&) = delete;
  StagedJob& operator=(const StagedJob&) = delete;

  /// Takes as many bytes as there is room for, and returns how many.
  std::size_t add(std::int64_t offset, std::span<const std::byte> bytes);
  /// Would a piece at `offset` make the range of this much longer than its bytes?
  bool is_far(std::int64_t offset) const;
  /// Calls `work` with each piece, in the order in which they came.
  template <class Work>
  void each_piece(Work&& work) const {
    for (std::size_t i = 0; i < pieces_; ++i) {
      work(piece(i));
    }
  }
  std::span<const std::byte> bytes_of(const Piece& piece) const {
    return {memory_ + piece.at, static_cast<std::size_t>(piece.run.length)};
  }
  /// From the first byte of the file to behind the last one.
  Run range() const { return {first_, last_ - first_}; }
  std::int64_t bytes() const { return bytes_; }

 private:
  /// They lie at the end of the memory, the first one last: the budget counts them too.
  Piece& piece(std::size_t i) const {
    return reinterpret_cast<Piece*>(memory_ + capacity_)[-1 - static_cast<std::ptrdiff_t>(i)];
  }

  std::byte* memory_;
  std::size_t capacity_;
  std::size_t used_ = 0;    ///< by bytes
  std::size_t pieces_ = 0;  ///< their number
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::int64_t bytes_ = 0;
};

/// Of the process.
std::int64_t staging_budget_bytes();

}  // namespace sluice::mpiio
