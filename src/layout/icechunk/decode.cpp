// Metadata files of Icechunk as values. The numbers of fields are those of its schema.
#include <algorithm>
#include <cstring>

#include "layout/icechunk/envelope.hpp"
#include "layout/icechunk/flat.hpp"
#include "layout/icechunk/metadata.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::icechunk {

namespace {

using flat::Buffer;
using flat::Table;
using flat::Vector;

constexpr std::size_t word_bytes = 4;
constexpr std::size_t pair_bytes = 8;   ///< of two numbers of 32 bits
constexpr std::size_t shape_pair = 16;  ///< of two numbers of 64 bits
constexpr std::size_t info_bytes = 32;
constexpr std::size_t most_rank = 64;
constexpr std::uint8_t is_array_node = 1;

// The least that each takes in a file that shares nothing: its link, the head of its table, and the
// fields that it cannot do without.
constexpr std::size_t node_bytes = 24;
constexpr std::size_t name_bytes = 8;
constexpr std::size_t manifest_ref_bytes = 24;
constexpr std::size_t array_refs_bytes = 16;
constexpr std::size_t ref_bytes = 20;

template <class Id>
Id id_in(std::span<const std::byte> bytes) {
  Id id{};
  std::memcpy(id.data(), bytes.data(), id.size());
  return id;
}

/// Tables may share what they refer to, and links may lead to one table; what is made of them has a
/// limit: each counts with what it takes in a file that shares nothing.
class Allowance {
 public:
  explicit Allowance(std::uint64_t bytes) : left_(bytes) {}
  void take(const Table& table, std::uint64_t bytes) {
    if (bytes > left_) {
      table.buffer().refuse("parts of it overlap");
    }
    left_ -= bytes;
  }

 private:
  std::uint64_t left_;
};

std::vector<std::uint32_t> index_in(const Table& ref, Allowance& allowance) {
  const Vector found = ref.vector(0, word_bytes);
  allowance.take(ref, ref_bytes + (found.count + 1) * word_bytes);
  std::vector<std::uint32_t> index;
  for (std::size_t i = 0; i < found.count; ++i) {
    index.push_back(ref.buffer().value<std::uint32_t>(found.at + i * word_bytes));
  }
  return index;
}

ChunkRef ref_in(const Table& table, Allowance& allowance) {
  ChunkRef ref;
  ref.index = index_in(table, allowance);
  ref.offset = table.value<std::uint64_t>(2, 0);
  ref.length = table.value<std::uint64_t>(3, 0);
  if (table.has(1)) {
    allowance.take(table, table.vector(1, 1).count);
    ref.inlined = table.byte_vector(1);
  } else if (table.has(5)) {
    allowance.take(table, table.vector(5, 1).count);
    ref.location = table.text(5);
  } else {
    ref.chunk = id_in<ObjectId>(table.bytes_of(4, sizeof(ObjectId)));
  }
  return ref;
}

ManifestRef manifest_ref_in(const Table& table, Allowance& allowance) {
  ManifestRef ref;
  ref.id = id_in<ObjectId>(table.bytes_of(0, sizeof(ObjectId)));
  const Vector extents = table.vector(1, pair_bytes);
  allowance.take(table, manifest_ref_bytes + extents.count * pair_bytes);
  for (std::size_t d = 0; d < extents.count; ++d) {
    const std::size_t at = extents.at + d * pair_bytes;
    ref.extents.emplace_back(table.buffer().value<std::uint32_t>(at),
                             table.buffer().value<std::uint32_t>(at + word_bytes));
  }
  return ref;
}

void take_array(const Table& table, Node& node, Allowance& allowance) {
  const Vector shape = table.vector(0, shape_pair);
  if (shape.count > most_rank) {
    table.buffer().refuse(node.path + " has " + std::to_string(shape.count) + " dimensions");
  }
  const std::size_t names = table.vector(1, word_bytes).count;
  if (names > most_rank) {
    table.buffer().refuse(node.path + " has too many names of dimensions");
  }
  allowance.take(table, shape.count * shape_pair + names * name_bytes);
  for (std::size_t d = 0; d < shape.count; ++d) {
    const std::size_t at = shape.at + d * shape_pair;
    node.shape.emplace_back(table.buffer().value<std::uint64_t>(at),
                            table.buffer().value<std::uint64_t>(at + pair_bytes));
  }
  for (const Table& name : table.tables(1)) {
    node.dimensions.emplace_back(name.has(0) ? std::optional(name.text(0)) : std::nullopt);
    allowance.take(table, node.dimensions.back().value_or("").size());
  }
  for (const Table& manifest : table.tables(2)) {
    node.manifests.push_back(manifest_ref_in(manifest, allowance));
  }
}

Node node_in(const Table& table, Allowance& allowance) {
  Node node;
  node.id = id_in<NodeId>(table.bytes_of(0, sizeof(NodeId)));
  allowance.take(table, table.vector(1, 1).count + table.vector(2, 1).count);
  node.path = table.text(1);
  const std::vector<std::byte> document = table.byte_vector(2);
  node.document.assign(reinterpret_cast<const char*>(document.data()), document.size());
  node.is_array = table.value<std::uint8_t>(3, 0) == is_array_node;
  if (node.is_array) {
    take_array(table.table(4), node, allowance);
  }
  return node;
}

}  // namespace

bool is_metadata(std::span<const std::byte> file) { return has_envelope(file); }

Snapshot decode_snapshot(std::span<const std::byte> file, const std::string& what) {
  const std::vector<std::byte> content = from_envelope(FileType::snapshot, file, what);
  const Buffer buffer(content, what);
  const Table root = Table::root(buffer);
  Allowance allowance(2 * content.size());
  Snapshot snapshot;
  snapshot.id = id_in<ObjectId>(root.bytes_of(0, sizeof(ObjectId)));
  if (root.has(1)) {
    snapshot.parent = id_in<ObjectId>(root.bytes_of(1, sizeof(ObjectId)));
  }
  snapshot.written_us = root.value<std::uint64_t>(3, 0);
  snapshot.message = root.text(4);
  const Vector files = root.vector(6, info_bytes);
  for (std::size_t i = 0; i < files.count; ++i) {
    const std::size_t at = files.at + i * info_bytes;
    snapshot.files.push_back({id_in<ObjectId>(buffer.at(at, sizeof(ObjectId))),
                              buffer.value<std::uint64_t>(at + 16),
                              buffer.value<std::uint32_t>(at + 24)});
  }
  const std::size_t nodes = root.vector(2, word_bytes).count;
  allowance.take(root, nodes * node_bytes);
  snapshot.nodes.reserve(nodes);
  for (const Table& node : root.tables(2)) {
    snapshot.nodes.push_back(node_in(node, allowance));
  }
  return snapshot;
}

Manifest decode_manifest(std::span<const std::byte> file, const std::string& what) {
  const std::vector<std::byte> content = from_envelope(FileType::manifest, file, what);
  const Buffer buffer(content, what);
  const Table root = Table::root(buffer);
  Allowance allowance(2 * content.size());
  Manifest manifest;
  manifest.id = id_in<ObjectId>(root.bytes_of(0, sizeof(ObjectId)));
  allowance.take(root, root.vector(1, word_bytes).count * array_refs_bytes);
  for (const Table& array : root.tables(1)) {
    ArrayRefs refs;
    refs.node = id_in<NodeId>(array.bytes_of(0, sizeof(NodeId)));
    for (const Table& ref : array.tables(1)) {
      refs.refs.push_back(ref_in(ref, allowance));
    }
    manifest.arrays.push_back(std::move(refs));
  }
  return manifest;
}

}  // namespace sluice::layout::icechunk
