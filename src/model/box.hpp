// An axis-parallel box of elements in the index space of a variable.
#pragma once

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

/// All of `shape`.
Box whole(const Dims& shape);
/// The common part, nothing where it is empty. Both boxes have the same rank.
std::optional<Box> intersect(const Box& a, const Box& b);
/// Is `inner` inside `outer`? Empty boxes are, wherever their start lies within.
bool contains(const Box& outer, const Box& inner);

}  // namespace sluice::model
