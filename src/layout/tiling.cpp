#include "layout/tiling.hpp"

#include <algorithm>

#include "sluice/error.hpp"

namespace sluice::layout {

using model::Box;
using model::Dims;

Tiling::Tiling(const Dims& tile, const Lengths& lengths) : tile_(tile) {
  if (std::all_of(lengths.begin(), lengths.end(), [](const auto& one) { return one.empty(); })) {
    return;
  }
  Lengths starts(lengths.size());
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    if (lengths[d].empty()) {
      continue;
    }
    std::uint64_t at = 0;
    for (const std::uint64_t length : lengths[d]) {
      starts[d].push_back(at);
      if (length == 0 || __builtin_add_overflow(at, length, &at)) {
        throw Error(Code::damaged, "chunks of impossible lengths");
      }
    }
    starts[d].push_back(at);
    tile_[static_cast<int>(d)] = *std::max_element(lengths[d].begin(), lengths[d].end());
  }
  starts_ = std::make_shared<const Lengths>(std::move(starts));
}

Dims Tiling::grid(const Dims& shape) const {
  Dims grid;
  for (int d = 0; d < shape.rank(); ++d) {
    grid.push_back(shape[d] == 0 ? 0 : number_of(d, shape[d] - 1) + 1);
  }
  return grid;
}

std::uint64_t Tiling::number_among(const std::vector<std::uint64_t>& cuts, std::uint64_t element) {
  const auto next = std::upper_bound(cuts.begin(), cuts.end(), element);
  return static_cast<std::uint64_t>(next - cuts.begin()) - 1;
}

Box Tiling::whole(const Dims& grid, std::uint64_t index) const {
  Box box{Dims::filled(grid.rank(), 0), tile_};
  for (int d = grid.rank() - 1; d >= 0; --d) {
    const std::uint64_t number = index % grid[d];
    index /= grid[d];
    box.start[d] = start_of(d, number);
    box.count[d] = length_of(d, number);
  }
  return box;
}

Tiling::Lengths Tiling::lengths() const {
  if (starts_ == nullptr) {
    return {};
  }
  Lengths lengths(starts_->size());
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    const auto& cuts = (*starts_)[d];
    for (std::size_t i = 1; i < cuts.size(); ++i) {
      lengths[d].push_back(cuts[i] - cuts[i - 1]);
    }
  }
  return lengths;
}

Tiling Tiling::without_front() const {
  Lengths rest = lengths();
  if (!rest.empty()) {
    rest.erase(rest.begin());
  }
  return {tile_.without_front(), rest};
}

void Tiling::write_to(model::ByteWriter& out) const {
  out.put(tile_);
  const Lengths all = lengths();
  out.put(all.size());
  for (const auto& one : all) {
    out.put(one);
  }
}

Tiling Tiling::read_from(model::ByteReader& in) {
  const Dims tile = in.get<Dims>();
  Lengths lengths(in.get<std::size_t>());
  for (auto& one : lengths) {
    one = in.get_vector<std::uint64_t>();
  }
  return {tile, lengths};
}

bool operator==(const Tiling& a, const Tiling& b) {
  return a.tile_ == b.tile_ &&
         (a.starts_ == b.starts_ ||
          (a.starts_ != nullptr && b.starts_ != nullptr && *a.starts_ == *b.starts_));
}

}  // namespace sluice::layout
