#include "plan/tile_owners.hpp"

#include <algorithm>
#include <utility>

namespace sluice::plan {

namespace {

/// The numbers below `end` that leave `remainder` when divided by `count`; remainder < count.
std::uint64_t with_remainder(std::uint64_t end, std::uint64_t count, std::uint64_t remainder) {
  return end / count + (end % count > remainder ? 1 : 0);
}

}  // namespace

TileOwners::TileOwners(RankList owners, const std::vector<std::uint64_t>& tiles)
    : owners_(std::move(owners)) {
  const std::uint64_t count = owners_.size();
  before_.reserve(tiles.size() + 1);
  before_.push_back({});
  for (const std::uint64_t of_variable : tiles) {
    const Sum& sum = before_.back();
    before_.push_back({sum.whole + of_variable / count, sum.rest + of_variable % count});
  }
}

std::uint64_t TileOwners::count_before(std::uint32_t variable, std::uint32_t owner) const {
  const Sum& sum = before_[variable];
  return sum.whole + with_remainder(sum.rest, owners_.size(), owner);
}

TileOwners::Shares TileOwners::shares_of(std::uint32_t variable) const {
  const Sum& first = before_[variable];
  const Sum& last = before_[variable + 1];
  const std::uint64_t count = owners_.size();
  const std::uint64_t begin = first.rest % count;
  const std::uint64_t end = begin + (last.rest - first.rest);
  Shares shares;
  shares.whole = last.whole - first.whole;
  shares.wrapped = end > count ? end - count : 0;
  shares.begin = begin;
  shares.end = std::min(end, count);
  return shares;
}

std::uint64_t TileOwners::Shares::first_of(std::uint64_t owner) const {
  return owner * whole + std::min(owner, wrapped) + std::clamp(owner, begin, end) - begin;
}

std::uint64_t TileOwners::Shares::owner_of(std::uint64_t tile) const {
  // Alternately, owners of one more than the whole share and owners of no more.
  std::uint64_t owner = 0;
  const auto passes = [&](std::uint64_t to, std::uint64_t each) {
    const std::uint64_t those = to - owner;
    if (each != 0 && tile / each < those) {
      owner += tile / each;
      return false;
    }
    tile -= those * each;
    owner = to;
    return true;
  };
  if (passes(wrapped, whole + 1) && passes(begin, whole) && passes(end, whole + 1) && whole != 0) {
    owner += tile / whole;
  }
  return owner;
}

TileOwners::Place TileOwners::place_of(std::uint32_t variable, std::uint64_t tile) const {
  const Shares shares = shares_of(variable);
  Place place;
  place.owner = static_cast<std::uint32_t>(shares.owner_of(tile));
  place.position = count_before(variable, place.owner) + tile - shares.first_of(place.owner);
  return place;
}

std::uint64_t TileOwners::count(std::uint32_t owner) const {
  return count_before(variables(), owner);
}

std::uint64_t TileOwners::most() const { return count(0); }

TileOwners::Tile TileOwners::tile_at(std::uint32_t owner, std::uint64_t position) const {
  std::uint32_t first = 0;
  std::uint32_t last = variables();
  while (first < last) {  // the first variable with whose tiles there are more than `position`
    const std::uint32_t middle = first + (last - first) / 2;
    if (count_before(middle + 1, owner) > position) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  if (first == variables()) {
    return {first, 0};
  }
  return {first, shares_of(first).first_of(owner) + position - count_before(first, owner)};
}

}  // namespace sluice::plan
