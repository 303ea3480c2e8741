#include "layout/portion.hpp"

#include <algorithm>

namespace sluice::layout {

using model::Box;
using model::Dims;

void for_each_part(const Box& box, std::uint64_t element_bytes, std::uint64_t limit_bytes,
                   const std::function<void(const Box&)>& visit) {
  if (box.empty()) {
    return;
  }
  // Step sizes: fast dimensions whole as long as they fit, one slab of the next, then single rows.
  Dims step = Dims::filled(box.start.rank(), 1);
  std::uint64_t bytes = element_bytes;
  for (int d = box.start.rank() - 1; d >= 0; --d) {
    step[d] =
        std::clamp<std::uint64_t>(limit_bytes / std::max<std::uint64_t>(1, bytes), 1, box.count[d]);
    bytes *= step[d];
    if (step[d] != box.count[d]) {
      break;
    }
  }
  Box part{box.start, step};
  while (true) {
    for (int d = 0; d < step.rank(); ++d) {
      part.count[d] = std::min(step[d], box.end(d) - part.start[d]);
    }
    visit(part);
    int d = step.rank() - 1;
    while (d >= 0 && (part.start[d] += step[d]) >= box.end(d)) {
      part.start[d] = box.start[d];
      --d;
    }
    if (d < 0) {
      return;
    }
  }
}

std::vector<Box> split(const Box& box, std::uint64_t element_bytes, std::uint64_t limit_bytes) {
  std::vector<Box> parts;
  for_each_part(box, element_bytes, limit_bytes, [&](const Box& part) { parts.push_back(part); });
  return parts;
}

void append_portions(std::uint32_t block, const Box& box, const Dims& shape, const Tiling& tiling,
                     std::uint32_t element_bytes, std::vector<Portion>& portions) {
  if (box.empty()) {
    return;
  }
  for (const Piece& piece : cut(shape, tiling, box)) {
    for (const Box& part : split(piece.box, element_bytes, portion_bytes)) {
      portions.push_back({block, {part, piece.tile_index}});
    }
  }
}

}  // namespace sluice::layout
