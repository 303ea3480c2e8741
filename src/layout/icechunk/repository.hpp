// A snapshot of an Icechunk repository as it is read: its nodes, and where their chunks are.
//
// Manifests are read when a node's chunks are first asked for, and kept. Invariant: a chunk is
// looked up where the snapshot says that it is, whatever else manifests hold.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layout/icechunk/metadata.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::icechunk {

inline constexpr const char* default_branch = "main";

std::string ref_name(const std::string& branch);
std::string tag_name(const std::string& tag);
/// Error bad_name for what cannot be the name of a branch or a tag; it begins with `what`.
void check_ref(const std::string& name, const std::string& what);
std::string snapshot_name(const ObjectId& id);
std::string manifest_name(const ObjectId& id);
std::string log_name(const ObjectId& id);
std::string chunk_name(const ObjectId& id);
/// The text of a ref that leads to a snapshot.
std::string ref_text(const ObjectId& id);

/// Is a chunk of this index inside these extents, of the same rank?
bool is_inside(const std::vector<std::uint32_t>& index, const std::vector<Range>& extents);

/// Is the store a repository, opened at a ref or a snapshot?
bool is_repository(storage::File& store);

class Repository {
 public:
  /// The head of `branch`, or, where there is none, the snapshot at which `store` was opened: the
  /// head of the default branch, another ref or a snapshot. Error damaged, version.
  explicit Repository(storage::File& store, const std::string& branch = default_branch);

  const Snapshot& snapshot() const noexcept { return snapshot_; }
  /// The bytes of the ref at which it was opened; empty: at a snapshot, or there is no such
  /// branch.
  const std::vector<std::byte>& ref() const noexcept { return ref_; }
  /// Nothing where there is no such node. Paths here have no slash in front: "" is the root.
  const Node* find(const std::string& path) const;
  /// The chunks of a node.
  const Refs& chunks(const Node& node);
  /// Those in one of its manifests.
  static Refs chunks_in(storage::File& store, const Node& node, const ManifestRef& ref);

 private:
  static Manifest manifest(storage::File& store, const ObjectId& id);
  /// Adds the chunks in a manifest of a node. Error damaged.
  static void add(const storage::File& store, const Node& node, const ManifestRef& ref,
                  const Manifest& manifest, Refs& chunks);

  storage::File& store_;
  std::vector<std::byte> ref_;
  Snapshot snapshot_;
  std::map<std::string, const Node*> nodes_;
  std::map<ObjectId, Manifest> manifests_;
  std::map<NodeId, Refs> chunks_;
};

}  // namespace sluice::layout::icechunk
