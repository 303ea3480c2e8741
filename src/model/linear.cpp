#include "model/linear.hpp"

#include <algorithm>

#include "model/convert.hpp"

namespace sluice::model {

namespace {

/// The coordinates of element number `index`.
Dims coordinates(const Box& box, std::uint64_t index) {
  Dims at = box.start;
  for (int d = box.start.rank() - 1; d >= 0; --d) {
    at[d] += index % box.count[d];
    index /= box.count[d];
  }
  return at;
}

}  // namespace

std::vector<Box> boxes_of_range(const Box& box, std::uint64_t first, std::uint64_t count) {
  std::vector<Box> boxes;
  const int rank = box.start.rank();
  while (count > 0) {
    if (rank == 0) {
      return {box};
    }
    // The slowest dimension in which a whole slab starts here and is wanted entirely.
    int slab = rank - 1;
    std::uint64_t slab_elements = 1;
    while (slab > 0) {
      const std::uint64_t next = slab_elements * box.count[slab];
      if (first % next != 0 || count < next) {
        break;
      }
      slab_elements = next;
      --slab;
    }
    Box part{coordinates(box, first), Dims::filled(rank, 1)};
    for (int d = slab + 1; d < rank; ++d) {
      part.count[d] = box.count[d];
    }
    part.count[slab] = std::min(count / slab_elements, box.end(slab) - part.start[slab]);
    const std::uint64_t taken = part.count[slab] * slab_elements;
    boxes.push_back(part);
    first += taken;
    count -= taken;
  }
  return boxes;
}

namespace {

void read_block(const Block& block, const Box& part, const Type& type, std::span<std::byte> out) {
  if (block.source != nullptr) {
    block.source->read(part, out);
  } else {
    pack(block.memory, block.box, part, type, block.allow_overflow, out);
  }
}

}  // namespace

void LinearSource::read(const Box& part, std::span<std::byte> out) const {
  for (const Box& box : boxes_of_range(block_.box, part.start[0] - offset_, part.count[0])) {
    const std::size_t bytes = box.volume() * type_.bytes;
    read_block(block_, box, type_, out.first(bytes));
    out = out.subspan(bytes);
  }
}

void MovedSource::read(const Box& part, std::span<std::byte> out) const {
  Box own = part;
  for (int d = 0; d < own.start.rank(); ++d) {
    own.start[d] += origin_[d];
  }
  read_block(block_, own, type_, out);
}

}  // namespace sluice::model
