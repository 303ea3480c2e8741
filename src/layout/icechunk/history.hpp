// The state of a branch of a repository as a planner advances it: nodes, and the chunks that each
// has.
//
// A snapshot names the manifests of every node. The newest one, the tail, is written anew with
// every snapshot. Once it has many chunks, those that the snapshot does not change move into a
// manifest of their own, which stays. So a snapshot writes a bounded number of references, however
// many steps there are. A chunk that is written again (of the log of commits, of the times) comes
// back to the tail, with the others of its manifest.
//
// Invariant: the ranges of chunks that the manifests of a node have in a snapshot do not overlap.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "layout/icechunk/metadata.hpp"
#include "layout/layout.hpp"

namespace sluice::layout::icechunk {

class History {
 public:
  /// A repository without a snapshot.
  History() = default;
  /// A snapshot that is there.
  explicit History(const Snapshot& snapshot);

  /// The newest snapshot; that of an empty repository where nothing was committed.
  const ObjectId& snapshot() const noexcept { return snapshot_; }
  /// The document of a node, "" for the root.
  void set_document(const std::string& node, std::string document);
  /// The chunks of a node in one of its manifests.
  using ReadRefs = std::function<Refs(const Node&, const ManifestRef&)>;
  /// A chunk written anew, or again.
  void set_chunk(const std::string& node, ChunkRef ref, const ReadRefs& read);
  /// Drops chunks of a node whose first index is `first` or more.
  void drop_chunks(const std::string& node, std::uint32_t first, const ReadRefs& read);
  /// What makes the changes since the last one a snapshot: its files.
  std::vector<Document> seal(const std::string& message, std::uint64_t written_us);

 private:
  struct State {
    Node node;  ///< with the manifests that stay
    Refs tail;
  };
  struct Changes {
    std::set<std::string> made;
    std::set<std::string> updated;
    std::map<std::string, std::set<std::vector<std::uint32_t>>> chunks;
  };

  State& state_of(const std::string& node);
  bool is_tail_long() const;
  /// The chunks of the tails that were not changed, in a manifest that stays.
  void keep_unchanged(std::vector<Document>& documents);
  TransactionLog log_of(const ObjectId& id) const;

  ObjectId snapshot_ = first_snapshot_id();
  std::map<std::string, State> nodes_;
  std::map<ObjectId, ManifestFile> files_;  ///< that stay
  Changes changes_;
};

}  // namespace sluice::layout::icechunk
