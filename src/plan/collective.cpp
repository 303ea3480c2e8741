// Some ranks write whole tiles, after an exchange in rounds.
#include <algorithm>

#include "plan/plan.hpp"

namespace sluice::plan {

namespace {

/// Longer windows gain nothing on any disk measured, shorter ones cost a meeting of all ranks each.
constexpr std::uint64_t largest_window_bytes = 8ULL << 20;
constexpr std::uint64_t smallest_window_bytes = 4ULL << 10;
constexpr std::uint64_t page_bytes = 4096;

/// A writer has three windows being filled or written, one being received and one being sent; what
/// is packed ahead takes a quarter of the budget.
constexpr std::uint64_t windows_in_budget = 8;
constexpr std::uint64_t windows_of_writer = 5;
constexpr std::uint64_t windows_of_feeder = 1;

}  // namespace

std::uint64_t window_bytes(const WriterChoice& choice) {
  std::uint64_t window = std::clamp(choice.budget_bytes / windows_in_budget, smallest_window_bytes,
                                    largest_window_bytes);
  if (choice.gather_bytes != 0) {
    window = std::clamp(choice.gather_bytes, smallest_window_bytes, window);
  }
  const std::uint64_t tile = choice.tile_bytes != 0 ? choice.tile_bytes : default_tile_bytes;
  // Whole tiles where several fit: then no write is shorter than the tiles ask for.
  window -= window % (tile <= window ? tile : page_bytes);
  return window;
}

TileMap tile_map(const Topology& topology, const WriterChoice& choice,
                 const layout::Extent& space) {
  const std::uint64_t tile = choice.tile_bytes != 0 ? choice.tile_bytes : default_tile_bytes;
  RankList writers = writer_list(topology, choice);
  return choice.cyclic ? TileMap::cyclic(std::move(writers), tile, space)
                       : TileMap::runs(std::move(writers), tile, space);
}

Plan plan_collective(const Input& input) {
  Plan plan;
  plan.strategy = "collective";
  plan.flow = Flow::rounds;
  plan.tiles = tile_map(input.topology, input.choice, input.space);
  plan.window_bytes = window_bytes(input.choice);
  // A portion is packed as a whole, however small the budget.
  std::uint64_t largest = 0;
  std::uint64_t all = 0;
  for (const std::uint64_t bytes : input.portion_sizes) {
    largest = std::max(largest, bytes);
    all += bytes;
  }
  plan.packed_bytes = std::max(input.choice.budget_bytes / 4, largest);
  const bool is_writer = plan.tiles.index_of(input.topology.rank) >= 0;
  plan.buffer_bytes = std::min(all, plan.packed_bytes) +
                      plan.window_bytes * (is_writer ? windows_of_writer : windows_of_feeder);
  return plan;
}

}  // namespace sluice::plan
