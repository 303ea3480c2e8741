// The contiguous runs of one piece of a variable in the file, computed on demand.
//
// Invariants: no list is made, so memory is O(1) and every query O(rank); runs ascend both in the
// file and in the piece's dense row-major bytes, so that the bytes between two file offsets are one
// range of the packed bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "layout/placement.hpp"

namespace sluice::layout {

class RunList {
 public:
  RunList() = default;
  /// `piece.box` must be inside its tile, and the tile must exist in the file.
  RunList(const Placement& placement, const Piece& piece);

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t run_bytes() const noexcept { return run_bytes_; }
  /// Of the whole piece, packed.
  std::uint64_t bytes() const noexcept { return count_ * run_bytes_; }
  /// First byte in the file, and one past the last.
  std::uint64_t begin() const noexcept { return base_; }
  std::uint64_t end() const noexcept {
    return count_ == 0 ? base_ : offset(count_ - 1) + run_bytes_;
  }
  /// File offset of run `index`.
  std::uint64_t offset(std::uint64_t index) const noexcept;
  /// The first run that ends beyond `file_offset`; count() if there is none.
  std::uint64_t first_beyond(std::uint64_t file_offset) const noexcept;
  /// The number of packed bytes that are before `file_offset` in the file.
  std::uint64_t packed_before(std::uint64_t file_offset) const noexcept;
  /// File offset of packed byte `packed` (below bytes()).
  std::uint64_t offset_of_packed(std::uint64_t packed) const noexcept {
    return offset(packed / run_bytes_) + packed % run_bytes_;
  }
  /// The first byte at or beyond `file_offset` that belongs to the piece; end() if there is none.
  std::uint64_t next_byte(std::uint64_t file_offset) const noexcept;

  /// Runs clipped to [first, last): visit(file_offset, packed_offset, bytes), ascending.
  template <class Visit>
  void for_each_within(std::uint64_t first, std::uint64_t last, Visit&& visit) const {
    for (std::uint64_t run = first_beyond(first); run < count_ && first < last; ++run) {
      const std::uint64_t at = offset(run);
      if (at >= last) {
        return;
      }
      const std::uint64_t from = std::max(first, at);
      const std::uint64_t to = std::min(last, at + run_bytes_);
      visit(from, run * run_bytes_ + (from - at), to - from);
    }
  }

 private:
  std::uint64_t base_ = 0;
  std::uint64_t run_bytes_ = 0;
  std::uint64_t count_ = 0;
  int outer_ = 0;  ///< dimensions over which the runs repeat, slowest first
  std::array<std::uint64_t, model::max_rank> counts_{};
  std::array<std::uint64_t, model::max_rank> strides_{};  ///< bytes
};

}  // namespace sluice::layout
