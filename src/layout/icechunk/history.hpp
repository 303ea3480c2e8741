// The state of a branch of a repository as a planner advances it: nodes, and the chunks that each
// has.
//
// A snapshot names the manifests of every node. The newest one, the tail, is written anew with
// every snapshot; once it has many chunks it stays as it is, and the next one begins a new tail. So
// a snapshot writes a bounded number of references, however many steps there are. Arrays whose
// chunks are written again (the log of commits, the times) have all of their chunks in the tail.
//
// Invariant: the ranges of chunks that the manifests of a node have in a snapshot do not overlap.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "layout/icechunk/repository.hpp"
#include "layout/layout.hpp"

namespace sluice::layout::icechunk {

class History {
 public:
  /// A repository without a snapshot.
  History() = default;
  /// The branch at which `repository` was opened. Nodes in `rewritten` are those whose chunks are
  /// written again.
  History(Repository& repository, const std::set<std::string>& rewritten);

  /// The newest snapshot; that of an empty repository where nothing was committed.
  const ObjectId& snapshot() const noexcept { return snapshot_; }
  /// The document of a node, "" for the root.
  void set_document(const std::string& node, std::string document);
  /// Chunks written anew; `rewrites`: the node's chunks are written again.
  void set_chunk(const std::string& node, ChunkRef ref, bool rewrites);
  /// Drops chunks of a node whose first index is `first` or more.
  void drop_chunks(const std::string& node, std::uint32_t first,
                   const std::function<Manifest(const ObjectId&)>& manifest_of);
  /// What makes the changes since the last one a snapshot: its files.
  std::vector<Document> seal(const std::string& message, std::uint64_t written_us);

 private:
  struct State {
    Node node;  ///< with the manifests that stay
    std::map<std::vector<std::uint32_t>, ChunkRef> tail;
    bool rewrites = false;
  };
  struct Changes {
    std::set<std::string> made;
    std::set<std::string> updated;
    std::map<std::string, std::set<std::vector<std::uint32_t>>> chunks;
  };

  State& state_of(const std::string& node);
  /// The tail stays as it was last written.
  void keep_tail();
  Manifest tail_manifest() const;
  TransactionLog log_of(const ObjectId& id) const;

  ObjectId snapshot_ = first_snapshot_id();
  std::map<std::string, State> nodes_;
  std::map<ObjectId, ManifestFile> files_;  ///< that stay
  ManifestFile tail_;                       ///< as last written
  Changes changes_;
};

}  // namespace sluice::layout::icechunk
