// Points sorted into cubic cells, to find those near a place without looking at all of them.
//
// Only cells that hold points take memory, so a few far outliers cost nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vec3.hpp"

namespace vampire {

class CellIndex {
 public:
  /// Points within `radius` of each other will be asked for. The points are copied.
  CellIndex(std::span<const Vec3> points, double radius);

  /// Calls found(index of the point, square of its distance) for every point within the radius of
  /// `place`, in no particular order.
  template <class Found>
  void near(const Vec3& place, Found&& found) const {
    const std::int64_t cx = cell(place.x, low_.x);
    const std::int64_t cy = cell(place.y, low_.y);
    const std::int64_t cz = cell(place.z, low_.z);
    for (std::int64_t x = cx - 1; x <= cx + 1; ++x) {
      for (std::int64_t y = cy - 1; y <= cy + 1; ++y) {
        for (std::size_t i = first_at_or_above(key(x, y, cz - 1)), last = key_end(x, y, cz + 1);
             i < entries_.size() && entries_[i].key < last; ++i) {
          const Vec3 d = entries_[i].point - place;
          const double square = dot(d, d);
          if (square <= radius_square_) {
            found(entries_[i].index, square);
          }
        }
      }
    }
  }

 private:
  struct Entry {
    std::uint64_t key;
    std::uint32_t index;
    Vec3 point;
  };

  /// Cell coordinate, at least 1 for points and their neighbours, below 2^21 - 1.
  std::int64_t cell(double value, double low) const;
  static std::uint64_t key(std::int64_t x, std::int64_t y, std::int64_t z) {
    return (static_cast<std::uint64_t>(x) << 42) | (static_cast<std::uint64_t>(y) << 21) |
           static_cast<std::uint64_t>(z);
  }
  static std::uint64_t key_end(std::int64_t x, std::int64_t y, std::int64_t z) {
    return key(x, y, z) + 1;
  }
  std::size_t first_at_or_above(std::uint64_t key) const;

  std::vector<Entry> entries_;
  Vec3 low_;
  double edge_ = 1;
  double radius_square_ = 0;
};

}  // namespace vampire
