#include "layout/read_ahead.hpp"

#include <algorithm>

#include "layout/runs.hpp"

namespace sluice::layout {

namespace {

/// Of a box that lies in a row of tiles, or in some of each.
void add_ranges(const Placement& placement, const model::Box& box,
                std::vector<storage::FileRange>& ranges) {
  for_each_piece(placement.shape(), placement.tiling(), box, [&](const Piece& piece) {
    if (ranges.size() == most_told || placement.address(piece.tile_index) == absent) {
      return;
    }
    const RunList runs(placement, piece);
    const std::uint64_t bytes = runs.end() - runs.begin();
    if (runs.bytes() >= bytes / 2) {  // else it is read run by run, without the gaps
      ranges.push_back({runs.begin(), bytes});
    }
  });
}

}  // namespace

std::shared_ptr<void> read_ahead(storage::File& file, const Placement& placement,
                                 const model::Box& box) {
  if (!storage::reads_ahead(file)) {
    return nullptr;
  }
  std::vector<storage::FileRange> ranges;
  add_ranges(placement, box, ranges);
  return storage::will_read(file, ranges);
}

std::shared_ptr<void> read_ahead(storage::File& file, const Placement& placement,
                                 const std::vector<std::uint64_t>& sizes,
                                 std::span<const std::uint64_t> wanted) {
  if (!storage::reads_ahead(file)) {
    return nullptr;
  }
  std::vector<storage::FileRange> ranges;
  for (const std::uint64_t tile : wanted) {
    if (const std::uint64_t address = placement.address(tile); address != absent) {
      ranges.push_back({address, sizes.at(placement.entry_of(tile))});
    }
  }
  return storage::will_read(file, ranges);
}

void ReadingAhead::tell(std::size_t i) {
  if (i % most_told != 0 || !storage::reads_ahead(file_)) {
    return;
  }
  std::vector<storage::FileRange> ranges;
  for (const std::size_t end = std::min(boxes_, i + most_told); i < end; ++i) {
    add_ranges(placement_, box_of_(i), ranges);
  }
  told_ = storage::will_read(file_, ranges);
}

}  // namespace sluice::layout
