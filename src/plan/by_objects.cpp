// A plan on storage whose objects are written whole: each by one rank.
#include <algorithm>
#include <bit>

#include "plan/plan.hpp"

namespace sluice::plan {

namespace {

/// Who writes by a plan.
RankList writers_of(const Plan& plan, const Topology& topology) {
  switch (plan.flow) {
    case Flow::direct:
      return RankList::spaced(0, 1, topology.ranks);
    case Flow::funnel:
      return RankList::spaced(plan.transfers.empty() ? 0 : plan.transfers.front().writer, 1, 1);
    default:
      return plan.tiles.writers();
  }
}

}  // namespace

Plan by_objects(Plan plan, const Input& input, std::uint64_t largest_bytes,
                std::uint64_t room_bytes) {
  constexpr std::uint64_t smallest_tile_bytes = 4096;
  const std::uint64_t tile = std::bit_ceil(std::max(largest_bytes, smallest_tile_bytes));
  const bool is_cyclic = plan.tiles.is_cyclic();
  RankList writers = writers_of(plan, input.topology);
  if (plan.flow == Flow::direct || plan.flow == Flow::funnel) {
    const Plan rounds = plan_collective(input);
    plan.flow = Flow::two_phase;
    plan.transfers.clear();
    plan.senders.clear();
    plan.window_bytes = rounds.window_bytes;
    plan.packed_bytes = rounds.packed_bytes;
    plan.buffer_bytes = rounds.buffer_bytes;
  }
  plan.window_bytes = std::min(plan.window_bytes, room_bytes);
  plan.tiles = is_cyclic ? TileMap::cyclic(std::move(writers), tile, input.space)
                         : TileMap::runs(std::move(writers), tile, input.space);
  if (plan.flow == Flow::async_two_phase) {
    plan.writer_bytes = std::min(plan.tiles.own_bytes(), input.space.length);
  }
  return plan;
}

}  // namespace sluice::plan
