// The index of a set of parts, on the one rank that writes it.
//
// Every commit writes the whole index under a temporary name and renames it: a reader finds the old
// index or the new one, and both refer only to rows that are in the parts already. So the parts may
// be ahead of the index, by a commit in progress or a failed one, but never behind it.
//
// Invariants: holds the writer lease of the index; an index that was moved, or whose name another
// file has by now, is not replaced, and no part of it is removed; the changes of a commit are kept
// only if its rename succeeded, and, if it is synced, the sync of the folder. If that sync fails,
// the previous index is restored in the same way, so that the failed step is not in the file; if
// that fails too, or the name belonged to another file before, the index is poisoned: its state is
// known only after reopening it. A part goes only when no step that is kept refers to it, and only
// after the commit that no longer does is durable. A set that is replaced stays whole until the
// first commit is durable; then its parts are removed (those that this rank can reach; a failure to
// do so is not an error).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "commit/parts/indexed_set.hpp"
#include "commit/parts/parts_writer.hpp"
#include "commit/publish/parts_files.hpp"
#include "commit/publish/published_name.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class PartsIndex {
 public:
  /// A new set, as IndexedSet, or an existing one, which keeps its profile. Error exists, locked;
  /// on append those of IndexedSet.
  PartsIndex(storage::Storage& storage, const std::string& path, const std::string& strategy,
             Opening opening, layout::hdf5::Profile profile = layout::hdf5::Profile::stacked);

  /// As of the last commit.
  const IndexedSet& content() const noexcept { return content_; }
  bool poisoned() const noexcept { return poisoned_; }
  /// As Publisher::opening_notice().
  std::string opening_notice() const { return name_.notice(); }
  /// Removes the parts of this set in `folder` that the index does not mention: a run which died
  /// had dropped them, or not yet entered them. What cannot be removed stays.
  void remove_orphans(const std::string& folder) noexcept;

  void set_attribute(const model::Attribute& attribute);
  /// IndexedSet::commit(), which is published. Returns the number of the step. On an Error nothing
  /// has changed.
  std::uint64_t commit(const std::vector<model::Definition>& definitions, const FileCommit& commit,
                       const std::vector<PartNews>& news, std::uint64_t keep = 0,
                       const std::vector<std::uint32_t>& shared = {});
  /// Removes the files of parts that earlier commits dropped; with `all` also those of the last
  /// one, although a reader may still have the previous index open. Only if no index that refers to
  /// them can reappear. With `all` also those of the set that was replaced.
  void remove_dropped(bool all) noexcept;
  /// Writes the index, with what set_attribute() was told. On an Error the one before is current,
  /// or the index is poisoned.
  void replace(IndexedSet next, bool synced);
  /// Makes the index and its name durable.
  void sync();

  /// The content without the steps from `step` on, and without the parts that only they need.
  IndexedSet before_step(std::uint64_t step) const;
  /// Writes the index again as before_step() is. The parts are removed after a later commit.
  void drop_from(std::uint64_t step, bool synced);
  /// Writes the index again, durably, without the last steps where these are what the parts `lost`
  /// (by number) hold, and without what only they need; the rest of that is removed. False, and
  /// nothing has changed: earlier steps need them too, or nothing would be left.
  bool forget_parts(const std::vector<std::size_t>& lost);

 private:
  void write(const layout::hdf5::Index& index, bool synced);
  /// After a write() whose folder could not be synced. False: the state on disk is unknown.
  bool put_back() noexcept;
  void remove_journal(bool synced);
  void remove_all(std::vector<OldPart>& parts) noexcept;

  storage::Storage& storage_;
  PublishedName name_;
  IndexedSet content_;
  std::vector<model::Attribute> attributes_;  ///< as the next commit has them
  std::vector<OldPart> dropped_;              ///< parts that the last commit dropped
  std::vector<OldPart> older_;                ///< those that commits before it did
  std::unique_ptr<storage::File> locked_;     ///< the one at the path, against HDF5 programs
  bool poisoned_ = false;
  bool has_no_journal_ = false;  ///< beside it, and none can reappear
};

}  // namespace sluice::commit
