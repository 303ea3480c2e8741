#include "model/loops.hpp"

namespace sluice::model {

Loops make_loops(const Dims& count, const Dims& from_shape, const Dims& to_shape) {
  std::array<Loop, max_rank> nest{};  // fastest first
  std::size_t depth = 0;
  Loop next{1, 1, 1};
  for (int i = count.rank() - 1; i >= 0; --i) {
    next.count = count[i];
    if (depth > 0 && next.from_step == nest[depth - 1].count * nest[depth - 1].from_step &&
        next.to_step == nest[depth - 1].count * nest[depth - 1].to_step) {
      nest[depth - 1].count *= next.count;
    } else if (next.count > 1) {
      nest[depth++] = next;
    }
    next.from_step *= from_shape[i];
    next.to_step *= to_shape[i];
  }

  Loops loops;
  std::size_t used = 0;
  if (depth > 0 && nest[0].from_step == 1 && nest[0].to_step == 1) {
    loops.run = nest[used++].count;
  }
  if (used < depth) {
    loops.rows = nest[used++];
  }
  while (used < depth) {
    loops.around[static_cast<std::size_t>(loops.depth++)] = nest[--depth];
  }
  return loops;
}

std::uint64_t linear_offset(const Dims& at, const Dims& shape) {
  std::uint64_t offset = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    offset = offset * shape[i] + at[i];
  }
  return offset;
}

}  // namespace sluice::model
