#include "layout/block_grid.hpp"

#include <algorithm>
#include <set>

#include "layout/plausible.hpp"
#include "model/bytes.hpp"

namespace sluice::layout {

using model::Box;
using model::Dims;
using Cuts = std::vector<std::vector<std::uint64_t>>;

namespace {

/// Where blocks begin along each dimension, ascending, and the end of the shape.
Cuts cuts_of(std::span<const Box> boxes, const Dims& shape) {
  Cuts cuts(static_cast<std::size_t>(shape.rank()));
  for (int d = 0; d < shape.rank(); ++d) {
    std::set<std::uint64_t> starts{shape[d]};
    for (const Box& box : boxes) {
      starts.insert(box.start[d]);
    }
    cuts[static_cast<std::size_t>(d)].assign(starts.begin(), starts.end());
  }
  return cuts;
}

bool is_cell(const Box& box, const Cuts& cuts) {
  for (int d = 0; d < box.start.rank(); ++d) {
    const auto& along = cuts[static_cast<std::size_t>(d)];
    const auto next = std::upper_bound(along.begin(), along.end(), box.start[d]);
    if (next == along.end() || *next != box.end(d)) {
      return false;
    }
  }
  return true;
}

/// Blocks do not overlap: as many cells as the grid has are all of them.
bool are_all_cells(std::span<const Box> boxes, const Cuts& cuts) {
  std::uint64_t cells = 1;
  for (const auto& along : cuts) {
    if (along.front() != 0 || __builtin_mul_overflow(cells, along.size() - 1, &cells)) {
      return false;
    }
  }
  std::set<std::vector<std::uint64_t>> starts;
  for (const Box& box : boxes) {
    starts.emplace(box.start.begin(), box.start.end());
    if (!is_cell(box, cuts)) {
      return false;
    }
  }
  return cells == boxes.size() && starts.size() == cells && cells <= most_listed_tiles;
}

/// The lengths between cuts, the slowest dimension cut again where a cell is too large.
Tiling::Lengths lengths_of(const Cuts& cuts, std::uint64_t element_bytes,
                           std::uint64_t most_bytes) {
  Tiling::Lengths lengths(cuts.size());
  std::uint64_t row_bytes = element_bytes;
  for (std::size_t d = cuts.size(); d-- > 0;) {
    const std::uint64_t most_rows =
        d == 0 ? std::max<std::uint64_t>(1, most_bytes / row_bytes) : cuts[d].back();
    std::uint64_t longest = 0;
    for (std::size_t i = 1; i < cuts[d].size(); ++i) {
      const std::uint64_t rows = cuts[d][i] - cuts[d][i - 1];
      const std::uint64_t parts = (rows + most_rows - 1) / most_rows;
      for (std::uint64_t part = 0; part < parts; ++part) {
        lengths[d].push_back((part + 1) * rows / parts - part * rows / parts);
      }
      longest = std::max(longest, rows);
    }
    row_bytes = model::checked_product(row_bytes, longest, "a block");
  }
  return lengths;
}

}  // namespace

BlockGrids::BlockGrids(std::span<const std::vector<std::byte>> gathered) {
  for (const std::vector<std::byte>& bytes : gathered) {
    model::ByteReader in(bytes);
    boxes_.resize(in.get<std::size_t>());
    for (auto& boxes : boxes_) {
      const auto more = in.get_vector<Box>();
      boxes.insert(boxes.end(), more.begin(), more.end());
    }
  }
}

void BlockGrids::add(std::size_t variable, const Box& box) {
  if (!box.empty()) {
    boxes_[variable].push_back(box);
  }
}

std::vector<std::byte> BlockGrids::to_bytes() const {
  model::ByteWriter out;
  out.put(boxes_.size());
  for (const auto& boxes : boxes_) {
    out.put(boxes);
  }
  return out.take();
}

std::optional<Tiling> BlockGrids::tiling(std::size_t variable, const Dims& shape,
                                         std::uint64_t element_bytes,
                                         const GridLimits& limits) const {
  const auto& boxes = boxes_.at(variable);
  if (boxes.size() < 2 || shape.rank() == 0) {
    return std::nullopt;
  }
  const std::uint64_t bytes = model::checked_product(shape.volume(), element_bytes, "a variable");
  const Cuts cuts = cuts_of(boxes, shape);
  if (bytes / boxes.size() < limits.least_mean_bytes || !are_all_cells(boxes, cuts)) {
    return std::nullopt;
  }
  Dims largest;
  Tiling::Lengths lengths = lengths_of(cuts, element_bytes, limits.most_bytes);
  for (auto& along : lengths) {
    largest.push_back(*std::max_element(along.begin(), along.end()));
    if (along.size() == 1) {
      along.clear();  // one chunk: the length of all
    }
  }
  return Tiling(largest, lengths);
}

}  // namespace sluice::layout
