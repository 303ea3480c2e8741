// Work that every node does once, shared by the ranks of a node.
#pragma once

#include <cstddef>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

/// Of the items 0, 1, 2, ... a rank has `place`, `place` + `ranks`, `place` + 2 `ranks`, ...
struct Share {
  std::size_t place = 0;
  std::size_t ranks = 1;  ///< that share them

  bool has(std::size_t item) const noexcept { return item % ranks == place; }
};

/// Local. Of items that all ranks share.
inline Share share_of_all(const Transport& transport) {
  return {static_cast<std::size_t>(transport.rank()), static_cast<std::size_t>(transport.size())};
}

/// Collective. Of items that the ranks of each node share.
Share share_of_node(Transport& transport);

}  // namespace sluice::exec
