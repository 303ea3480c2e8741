#include "layout/runs.hpp"

namespace sluice::layout {

RunList::RunList(const Placement& placement, const Piece& piece) {
  const model::Box& part = piece.box;
  const std::uint64_t element = placement.element_bytes();
  const model::Box tile = placement.whole_tile(piece.tile_index);
  const detail::RunShape shape = detail::run_shape(tile.count, part, part);
  base_ = placement.address(piece.tile_index) +
          detail::linear(part.start, tile.start, tile.count) * element;
  run_bytes_ = shape.run_elements * element;
  count_ = part.empty() ? 0 : part.volume() / shape.run_elements;
  std::uint64_t stride = element;
  for (int d = part.start.rank() - 1; d >= 0; --d) {
    if (d < shape.outer) {
      counts_[static_cast<std::size_t>(d)] = part.count[d];
      strides_[static_cast<std::size_t>(d)] = stride;
    }
    stride *= tile.count[d];
  }
  // Dimensions of one element repeat nothing.
  for (int d = 0; d < shape.outer; ++d) {
    const auto from = static_cast<std::size_t>(d);
    if (counts_[from] != 1) {
      counts_[static_cast<std::size_t>(outer_)] = counts_[from];
      strides_[static_cast<std::size_t>(outer_)] = strides_[from];
      ++outer_;
    }
  }
}

std::uint64_t RunList::offset(std::uint64_t index) const noexcept {
  std::uint64_t at = base_;
  for (std::size_t d = static_cast<std::size_t>(outer_); d-- > 0;) {
    if (d == 0) {
      return at + index * strides_[0];
    }
    at += index % counts_[d] * strides_[d];
    index /= counts_[d];
  }
  return at;
}

std::uint64_t RunList::first_beyond(std::uint64_t file_offset) const noexcept {
  if (file_offset < base_ + run_bytes_) {
    return 0;
  }
  std::uint64_t rest = file_offset - base_;
  std::uint64_t index = 0;
  std::uint64_t left = count_;
  for (std::size_t d = 0; d < static_cast<std::size_t>(outer_); ++d) {
    left /= counts_[d];
    const std::uint64_t step = rest / strides_[d];
    if (step >= counts_[d]) {
      return index + counts_[d] * left;  // beyond all that share this prefix
    }
    index += step * left;
    rest -= step * strides_[d];
  }
  return rest < run_bytes_ ? index : index + 1;
}

std::uint64_t RunList::packed_before(std::uint64_t file_offset) const noexcept {
  const std::uint64_t run = first_beyond(file_offset);
  if (run >= count_) {
    return count_ * run_bytes_;
  }
  const std::uint64_t at = offset(run);
  return run * run_bytes_ + (file_offset > at ? file_offset - at : 0);
}

std::uint64_t RunList::next_byte(std::uint64_t file_offset) const noexcept {
  const std::uint64_t run = first_beyond(file_offset);
  return run >= count_ ? end() : std::max(file_offset, offset(run));
}

}  // namespace sluice::layout
