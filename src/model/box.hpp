// An axis-parallel box of elements in the index space of a variable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/dims.hpp"

namespace sluice::model {

struct Box {
  Dims start;
  Dims count;

  std::uint64_t volume() const { return count.volume(); }
  bool empty() const { return volume() == 0; }
  /// One past the last element in dimension i.
  std::uint64_t end(int i) const noexcept { return start[i] + count[i]; }
  /// "start (0, 0) count (10, 3)"
  std::string text() const;

  friend bool operator==(const Box&, const Box&) = default;
};

/// A block and the rank that put it.
struct OwnedBox {
  Box box;
  int rank = 0;
  std::uint32_t variable = 0;
};

/// All of `shape`.
Box whole(const Dims& shape);
/// The intersection; empty optional if the boxes do not overlap. Both boxes have the same rank.
std::optional<Box> intersect(const Box& a, const Box& b);
/// Does `outer` contain `inner`? An empty box is contained wherever its start is inside.
bool contains(const Box& outer, const Box& inner);

}  // namespace sluice::model
