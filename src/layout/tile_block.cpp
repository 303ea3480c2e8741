#include "layout/tile_block.hpp"

namespace sluice::layout {

using model::Dims;

TileBlock::TileBlock(const Placement& placement, const model::Box& box) : grid_(placement.grid()) {
  if (box.empty()) {
    return;
  }
  for (int d = 0; d < grid_.rank(); ++d) {
    first_.push_back(placement.tiling().number_of(d, box.start[d]));
    count_.push_back(placement.tiling().number_of(d, box.end(d) - 1) + 1 - first_[d]);
  }
  size_ = count_.volume();
}

std::uint64_t TileBlock::tile(std::uint64_t number) const {
  std::uint64_t index = 0;
  std::uint64_t stride = 1;
  for (int d = grid_.rank() - 1; d >= 0; --d) {
    index += (first_[d] + number % count_[d]) * stride;
    number /= count_[d];
    stride *= grid_[d];
  }
  return index;
}

std::uint64_t TileBlock::number_of(const Dims& at) const {
  std::uint64_t number = 0;
  for (int d = 0; d < grid_.rank(); ++d) {
    number = number * count_[d] + (at[d] - first_[d]);
  }
  return number;
}

std::uint64_t TileBlock::next(const TileBlock& part, std::uint64_t from) const {
  if (from >= size_ || part.size_ == 0) {
    return size_;
  }
  const int rank = grid_.rank();
  Dims at = Dims::filled(rank, 0);
  for (int d = rank - 1; d >= 0; --d) {
    at[d] = first_[d] + from % count_[d];
    from /= count_[d];
  }
  const auto begin_from = [&](int d) {
    for (; d < rank; ++d) {
      at[d] = part.first_[d];
    }
  };
  for (int d = 0; d < rank; ++d) {
    if (at[d] < part.first_[d]) {
      begin_from(d);
      break;
    }
    if (at[d] >= part.first_[d] + part.count_[d]) {
      // Otherwise: advance the last dimension before it that can be advanced.
      int e = d - 1;
      while (e >= 0 && at[e] + 1 == part.first_[e] + part.count_[e]) {
        --e;
      }
      if (e < 0) {
        return size_;
      }
      ++at[e];
      begin_from(e + 1);
      break;
    }
  }
  return number_of(at);
}

}  // namespace sluice::layout
