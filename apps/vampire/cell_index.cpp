#include "cell_index.hpp"

#include <algorithm>
#include <limits>

#include "comm.hpp"

namespace vampire {
namespace {

/// Cells along an axis: a key has 21 bits each.
constexpr double max_cells = (1 << 21) - 8;

}  // namespace

CellIndex::CellIndex(std::span<const Vec3> points, double radius)
    : edge_(radius), radius_square_(radius * radius) {
  if (points.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(Code::over_budget, "more than 2^32 atoms on one rank: use more ranks");
  }
  Vec3 high;
  if (!points.empty()) {
    low_ = high = points.front();
  }
  for (const Vec3& point : points) {
    for (int axis = 0; axis < 3; ++axis) {
      low_[axis] = std::min(low_[axis], point[axis]);
      high[axis] = std::max(high[axis], point[axis]);
    }
  }
  for (int axis = 0; axis < 3; ++axis) {
    edge_ = std::max(edge_, (high[axis] - low_[axis]) / max_cells);
  }
  entries_.reserve(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vec3& p = points[i];
    entries_.push_back({key(cell(p.x, low_.x), cell(p.y, low_.y), cell(p.z, low_.z)),
                        static_cast<std::uint32_t>(i), p});
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  });
}

std::int64_t CellIndex::cell(double value, double low) const {
  // Places outside the points' range end in an empty cell beside it.
  const double place = (value - low) / edge_ + 2;
  return static_cast<std::int64_t>(std::clamp(place, 1.0, max_cells + 4));
}

std::size_t CellIndex::first_at_or_above(std::uint64_t key) const {
  return static_cast<std::size_t>(
      std::partition_point(entries_.begin(), entries_.end(),
                           [key](const Entry& entry) { return entry.key < key; }) -
      entries_.begin());
}

}  // namespace vampire
