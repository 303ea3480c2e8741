#include "exec/encode/encoded_rounds.hpp"

#include <algorithm>

namespace sluice::exec {

namespace {

constexpr std::uint64_t provisional_page_bytes = 4096;

std::vector<std::uint64_t> counts_of(const std::vector<EncodedVariable>& variables) {
  std::vector<std::uint64_t> counts;
  counts.reserve(variables.size());
  for (const EncodedVariable& v : variables) {
    counts.push_back(layout::grid_of(v.shape, v.tiling).volume());
  }
  return counts;
}

/// The most bytes of a tile, dense or encoded: one that does not shrink.
std::uint64_t most_encoded_bytes(const EncodedVariable& variable, std::uint32_t element_bytes) {
  std::uint64_t bytes = variable.tiling.tile().volume() * element_bytes;
  for (const codec::Filter& filter : variable.pipeline) {
    bytes += codec::find_method(filter.id)->added_bytes;
  }
  return bytes;
}

}  // namespace

EncodedRounds::EncodedRounds(std::vector<EncodedVariable> variables,
                             std::span<const model::Definition> definitions,
                             const plan::RankList& owners, std::uint64_t room_bytes)
    : variables_(std::move(variables)), owners_(owners, counts_of(variables_)) {
  for (const EncodedVariable& v : variables_) {
    element_bytes_.push_back(definitions[v.variable].type.bytes);
    stride_bytes_ = std::max(stride_bytes_, most_encoded_bytes(v, element_bytes_.back()));
  }
  stride_bytes_ = std::max<std::uint64_t>(
                      1, (stride_bytes_ + provisional_page_bytes - 1) / provisional_page_bytes) *
                  provisional_page_bytes;
  const std::uint64_t most = std::max<std::uint64_t>(1, owners_.most());
  per_round_ = std::clamp<std::uint64_t>(room_bytes / stride_bytes_, 1, most);
  rounds_ = (most + per_round_ - 1) / per_round_;
}

std::uint64_t EncodedRounds::round_of(std::uint32_t variable, std::uint64_t tile) const {
  return owners_.place_of(variable, tile).position / per_round_;
}

layout::CommitPlan EncodedRounds::placements(std::uint64_t round, int rank,
                                             std::span<const plan::TileOwners::Tile> parts) const {
  std::vector<std::vector<std::uint64_t>> addresses;
  for (const EncodedVariable& v : variables_) {
    addresses.emplace_back(layout::grid_of(v.shape, v.tiling).volume(), layout::absent);
  }
  const std::uint64_t count = owners_.owners().size();
  const auto place = [&](const plan::TileOwners::Tile& tile, std::uint64_t position,
                         std::uint64_t owner) {
    addresses[tile.variable][tile.tile] = (position % per_round_ * count + owner) * stride_bytes_;
  };
  for (const plan::TileOwners::Tile& tile : parts) {
    const plan::TileOwners::Place at = owners_.place_of(tile.variable, tile.tile);
    place(tile, at.position, at.owner);
  }
  if (const int own = owners_.index_of(rank); own >= 0) {
    const auto owner = static_cast<std::uint32_t>(own);
    const std::uint64_t last = std::min(owners_.count(owner), (round + 1) * per_round_);
    for (std::uint64_t position = round * per_round_; position < last; ++position) {
      place(owners_.tile_at(owner, position), position, owner);
    }
  }
  layout::CommitPlan plan;
  for (std::uint32_t i = 0; i < variables_.size(); ++i) {
    const EncodedVariable& v = variables_[i];
    plan.placements.emplace_back(v.variable, element_bytes_[i], v.shape, v.tiling, addresses[i]);
  }
  return plan;
}

plan::TileMap EncodedRounds::tile_map(std::uint64_t round) const {
  const std::uint64_t first = round * per_round_;
  const std::uint64_t most = std::max<std::uint64_t>(1, owners_.most());
  const std::uint64_t rows = std::min(per_round_, most - std::min(most, first));
  return plan::TileMap::cyclic(owners_.owners(), stride_bytes_,
                               {0, rows * owners_.owners().size() * stride_bytes_});
}

}  // namespace sluice::exec
