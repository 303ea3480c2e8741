// Ids of Icechunk: random bytes, which are names of files as text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::layout::icechunk {

template <std::size_t bytes>
using Id = std::array<std::uint8_t, bytes>;
/// Of snapshots, manifests, chunks.
using ObjectId = Id<12>;
/// Of arrays and groups.
using NodeId = Id<8>;

ObjectId new_object_id();
NodeId new_node_id();
/// In base 32 with the digits of Crockford: 20 characters.
std::string text_of(const ObjectId& id);
/// Nothing for what is no id.
std::optional<ObjectId> object_id_of(std::string_view text);

}  // namespace sluice::layout::icechunk
