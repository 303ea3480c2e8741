// The metadata files of an Icechunk repository, of version 1 of its format, as values and as bytes:
// snapshots, manifests of chunks, transaction logs.
//
// Invariant: what a file claims is checked where it is read: no vector of the result is larger than
// the file can hold.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layout/icechunk/ids.hpp"

namespace sluice::layout::icechunk {

/// A metadata file, decoded, takes at most so much memory.
inline constexpr std::uint64_t most_metadata_bytes = 256ULL << 20;

/// Where a chunk is: a file of the repository, bytes in the manifest, or a place elsewhere.
struct ChunkRef {
  std::vector<std::uint32_t> index;
  std::optional<std::vector<std::byte>> inlined;
  std::optional<ObjectId> chunk;
  std::string location;  ///< of a virtual one
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
/// By index.
using Refs = std::map<std::vector<std::uint32_t>, ChunkRef>;
struct ArrayRefs {
  NodeId node{};
  std::vector<ChunkRef> refs;  ///< ascending by index
};
struct Manifest {
  ObjectId id{};
  std::vector<ArrayRefs> arrays;  ///< ascending by node
};

/// Indices of chunks along a dimension: first, and the one behind the last.
using Range = std::pair<std::uint32_t, std::uint32_t>;
struct ManifestRef {
  ObjectId id{};
  std::vector<Range> extents;  ///< one for each dimension
};
/// A node of the hierarchy: "/" is the root.
struct Node {
  NodeId id{};
  std::string path;
  std::string document;  ///< its zarr.json
  bool is_array = false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> shape;  ///< elements, and those of a chunk
  std::vector<std::optional<std::string>> dimensions;
  std::vector<ManifestRef> manifests;
};
struct ManifestFile {
  ObjectId id{};
  std::uint64_t bytes = 0;
  std::uint32_t refs = 0;
};
struct Snapshot {
  ObjectId id{};
  std::optional<ObjectId> parent;
  std::uint64_t written_us = 0;  ///< since 1970
  std::string message;
  std::vector<Node> nodes;          ///< ascending by path
  std::vector<ManifestFile> files;  ///< ascending by id
};
struct UpdatedChunks {
  NodeId node{};
  std::vector<std::vector<std::uint32_t>> indices;  ///< ascending
};
/// What a snapshot changed. Every list ascends.
struct TransactionLog {
  ObjectId id{};
  std::vector<NodeId> new_groups;
  std::vector<NodeId> new_arrays;
  std::vector<NodeId> updated_arrays;
  std::vector<NodeId> updated_groups;
  std::vector<UpdatedChunks> chunks;
};

/// The first snapshot of every repository, which has no nodes.
ObjectId first_snapshot_id();

std::vector<std::byte> encode(const Snapshot& snapshot);
std::vector<std::byte> encode(const Manifest& manifest);
std::vector<std::byte> encode(const TransactionLog& log);
/// Error damaged, or version for a newer format, beginning with `what`.
Snapshot decode_snapshot(std::span<const std::byte> file, const std::string& what);
Manifest decode_manifest(std::span<const std::byte> file, const std::string& what);
/// Does it begin as a metadata file?
bool is_metadata(std::span<const std::byte> file);

}  // namespace sluice::layout::icechunk
