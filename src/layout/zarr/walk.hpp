// The nodes of a Zarr group, found in its folders: what consolidated metadata would say, where the
// store has none.
//
// Invariants: every node is named once for each path that leads to it; how many there are, and how
// deep they lie, is bounded, so that no links among folders make the walk long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::layout::zarr {

enum class Node : std::uint8_t { none, array, group };

/// Calls look(node) for every name below the root of the store, in the order of the names, a group
/// before what it holds; it says what is there. Error unsupported beyond the bounds.
void walk_nodes(storage::File& store, const std::function<Node(const std::string& node)>& look);

/// An object of the store as a whole, which is a document; nothing where it is not there. Error
/// truncated where it is empty.
std::vector<std::byte> read_document(storage::File& store, const std::string& name);

}  // namespace sluice::layout::zarr
