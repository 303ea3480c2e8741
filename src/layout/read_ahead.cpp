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
  if (!file.reads_ahead()) {
    return nullptr;
  }
  std::vector<storage::FileRange> ranges;
  add_ranges(placement, box, ranges);
  return file.will_read(ranges);
}

std::shared_ptr<void> read_ahead(storage::File& file, const Placement& placement,
                                 const std::vector<std::uint64_t>& sizes,
                                 std::span<const std::uint64_t> wanted) {
  if (!file.reads_ahead()) {
    return nullptr;
  }
  std::vector<storage::FileRange> ranges;
  for (const std::uint64_t tile : wanted) {
    if (const std::uint64_t address = placement.address(tile); address != absent) {
      ranges.push_back({address, sizes.at(placement.entry_of(tile))});
    }
  }
  return file.will_read(ranges);
}

void ReadingAhead::tell(std::size_t i) {
  if (i % most_told != 0 || !file_.reads_ahead()) {
    return;
  }
  std::vector<storage::FileRange> ranges;
  for (const std::size_t end = std::min(boxes_, i + most_told); i < end; ++i) {
    add_ranges(placement_, box_of_(i), ranges);
  }
  told_ = file_.will_read(ranges);
}

}  // namespace sluice::layout
