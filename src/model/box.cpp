// Invariant: nothing here adds a start and a count, so boxes that reach beyond 2^64 are handled.
#include "model/box.hpp"

#include <algorithm>

#include "model/numbering.hpp"

namespace sluice::model {

std::string Box::text() const { return "start " + position_text(start) + " count " + count.text(); }

Box whole(const Dims& shape) { return {Dims::filled(shape.rank(), 0), shape}; }

std::optional<Box> intersect(const Box& a, const Box& b) {
  Box common{a.start, a.count};
  for (int i = 0; i < a.start.rank(); ++i) {
    const std::uint64_t start = std::max(a.start[i], b.start[i]);
    const std::uint64_t skip_a = start - a.start[i];
    const std::uint64_t skip_b = start - b.start[i];
    if (skip_a >= a.count[i] || skip_b >= b.count[i]) {
      return std::nullopt;
    }
    common.start[i] = start;
    common.count[i] = std::min(a.count[i] - skip_a, b.count[i] - skip_b);
  }
  return common;
}

bool contains(const Box& outer, const Box& inner) {
  bool starts_within =
      outer.start.rank() == inner.start.rank() && outer.start.rank() == inner.count.rank();
  bool ends_within = true;
  bool inner_empty = false;
  for (int i = 0; i < outer.start.rank() && starts_within; ++i) {
    starts_within =
        inner.start[i] >= outer.start[i] && inner.start[i] - outer.start[i] <= outer.count[i];
    ends_within &=
        starts_within && inner.count[i] <= outer.count[i] - (inner.start[i] - outer.start[i]);
    inner_empty |= inner.count[i] == 0;
  }
  return starts_within && (ends_within || inner_empty);
}

}  // namespace sluice::model
