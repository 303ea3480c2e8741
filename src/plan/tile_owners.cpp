#include "plan/tile_owners.hpp"

#include <algorithm>

namespace sluice::plan {

TileOwners::TileOwners(RankList owners, std::vector<std::uint64_t> tiles)
    : owners_(std::move(owners)), tiles_(std::move(tiles)) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : tiles_) {
    before_.push_back(sum);
    sum += count;
  }
}

std::uint64_t TileOwners::shift(std::uint32_t variable) const {
  return tiles_[variable] < owners_.size() ? before_[variable] % owners_.size() : 0;
}

TileOwners::Run TileOwners::run(std::uint32_t variable, std::uint32_t owner) const {
  const std::uint64_t count = owners_.size();
  const std::uint64_t slot = (owner + count - shift(variable)) % count;
  const std::uint64_t share = tiles_[variable] / count;
  const std::uint64_t rest = tiles_[variable] % count;
  // The first `rest` slots have one more.
  const std::uint64_t first = slot * share + std::min(slot, rest);
  return {first, first + share + (slot < rest ? 1 : 0)};
}

TileOwners::Place TileOwners::place_of(std::uint32_t variable, std::uint64_t tile) const {
  const std::uint64_t count = owners_.size();
  const std::uint64_t share = tiles_[variable] / count;
  const std::uint64_t rest = tiles_[variable] % count;
  const std::uint64_t longer = rest * (share + 1);
  const std::uint64_t slot = tile < longer
                                 ? tile / (share + 1)
                                 : rest + (tile - longer) / std::max<std::uint64_t>(1, share);
  Place place;
  place.owner = static_cast<std::uint32_t>((slot + shift(variable)) % count);
  place.position = tile - run(variable, place.owner).first;
  for (std::uint32_t v = 0; v < variable; ++v) {
    const Run earlier = run(v, place.owner);
    place.position += earlier.last - earlier.first;
  }
  return place;
}

std::uint64_t TileOwners::count(std::uint32_t owner) const {
  std::uint64_t sum = 0;
  for (std::uint32_t v = 0; v < tiles_.size(); ++v) {
    const Run own = run(v, owner);
    sum += own.last - own.first;
  }
  return sum;
}

std::uint64_t TileOwners::most() const {
  // Of a variable all owners have the same number of tiles, and a cyclic range of owners has one
  // more: only the starts of such ranges are examined, whatever the number of owners.
  std::uint64_t most = 0;
  for (std::uint32_t v = 0; v < tiles_.size(); ++v) {
    most = std::max(most, this->count(static_cast<std::uint32_t>(shift(v))));
  }
  return most;
}

TileOwners::Tile TileOwners::tile_at(std::uint32_t owner, std::uint64_t position) const {
  for (std::uint32_t v = 0; v < tiles_.size(); ++v) {
    const Run own = run(v, owner);
    if (position < own.last - own.first) {
      return {v, own.first + position};
    }
    position -= own.last - own.first;
  }
  return {static_cast<std::uint32_t>(tiles_.size()), 0};
}

}  // namespace sluice::plan
