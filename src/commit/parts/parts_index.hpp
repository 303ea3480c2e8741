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

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "commit/parts/index_name.hpp"
#include "commit/parts/parts_writer.hpp"
#include "commit/publish/parts_files.hpp"
#include "layout/hdf5/index.hpp"
#include "layout/part_set.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// The numbers of a set's parts by their ids: with as many parts as ranks, none is searched for.
using PartNumbers = std::unordered_map<std::uint64_t, std::uint32_t>;

class PartsIndex {
 public:
  /// A new set, whose index is written as `profile` says (stacked, or netcdf4), or an existing one,
  /// which keeps its profile. Error exists, locked; on append format if `path` is not an index,
  /// changed_outside if another program added something to it (rewriting would lose it).
  PartsIndex(storage::Storage& storage, const std::string& path, const std::string& strategy,
             Opening opening, layout::hdf5::Profile profile = layout::hdf5::Profile::stacked);

  const layout::PartSet& set() const noexcept { return set_; }
  layout::hdf5::Profile profile() const noexcept { return profile_; }
  /// The variables of the set, in its order.
  const std::vector<model::Definition>& definitions() const noexcept { return definitions_; }
  std::uint64_t steps() const noexcept { return steps_; }
  /// Did a dataset of the steps' times exist when the index was opened?
  bool has_time() const noexcept { return has_time_; }
  bool poisoned() const noexcept { return poisoned_; }
  /// As Publisher::opening_notice().
  std::string opening_notice() const { return name_.notice(); }
  /// A number above those of all parts of the set that are in use, in any folder.
  std::uint64_t next_number() const;
  /// Removes the parts of this set in `folder` that the index does not mention: a run which died
  /// had dropped them, or not yet entered them. What cannot be removed stays.
  void remove_orphans(const std::string& folder) noexcept;

  void set_attribute(const model::Attribute& attribute);
  /// Adds what the groups wrote and publishes it. `definitions`: of the whole, those of earlier
  /// steps first. Returns the number of the step. On an Error nothing has changed. `keep`: only the
  /// last that many steps stay, and are renumbered; 0: all. `shared`: variables of which nothing
  /// was written, because the step shared_lag(keep) before has their values: this one refers to
  /// the same place.
  std::uint64_t commit(const std::vector<model::Definition>& definitions, const FileCommit& commit,
                       const std::vector<PartNews>& news, std::uint64_t keep = 0,
                       const std::vector<std::uint32_t>& shared = {});
  /// How many steps before the present one the bytes lie that a step may share. Where two are kept,
  /// not those of the last step: so no two steps that follow one another share any, and a damage
  /// leaves one of them whole.
  static std::uint64_t shared_lag(std::uint64_t keep) { return std::min<std::uint64_t>(keep, 2); }
  /// Of the variables of which every rank had the same values in the last `alike` steps: those
  /// that the next step may share. The parts that stay for it have at most as many bytes as the
  /// values of the last step, so that a set takes at most twice the room.
  std::vector<std::uint32_t> sharable(const std::vector<std::int64_t>& alike,
                                      std::uint64_t keep) const;
  /// Removes the files of parts that earlier commits dropped; with `all` also those of the last
  /// one, although a reader may still have the previous index open. Only if no index that refers to
  /// them can reappear. With `all` also those of the set that was replaced.
  void remove_dropped(bool all) noexcept;
  /// Rewrites the index without the steps from number `steps` on. The parts are not changed.
  void drop_steps(std::uint64_t steps, bool synced);
  /// Makes the index and its name durable.
  void sync();

  /// Writes the index again, durably, without the last steps where these are what the parts `lost`
  /// (by number) hold, and without what only they need; the rest of that is removed. False, and
  /// nothing has changed: earlier steps need them too, or nothing would be left.
  bool forget_parts(const std::vector<std::size_t>& lost);
  /// Writes the index again with other paths of its parts, one a part.
  void move_parts(const std::vector<std::string>& paths, bool synced);

 private:
  /// The location of a variable's boxes in a part since the last commit that wrote it.
  struct Place {
    layout::Mapping mapping;   ///< as the last commit had it
    std::uint32_t number = 0;  ///< among those of the set, or no_number
  };
  struct Last {
    std::vector<Place> places;
  };
  static constexpr std::uint32_t no_number = 0xffffffff;  ///< its steps were dropped
  using Key = std::pair<std::uint32_t, std::uint32_t>;    ///< part, variable

  void load();
  /// The changes of a commit by one group.
  void enter(layout::PartSet& set, const PartNews& news, PartNumbers& numbers,
             std::map<Key, Last>& last) const;
  /// The next step has of these variables what step number `from` has.
  void share(layout::PartSet& set, const std::vector<std::uint32_t>& shared,
             std::uint64_t from) const;
  /// Writes an index and makes it the current one. On an Error the previous one is current, or the
  /// index is poisoned.
  void replace(const layout::hdf5::Index& index, bool synced);
  void write(const layout::hdf5::Index& index, bool synced);
  /// The index as of the last commit; only the changes of the next one are added.
  layout::hdf5::Index present() const;
  /// After a write() whose folder could not be synced. False: the state on disk is unknown.
  bool put_back() noexcept;
  void remove_journal(bool synced);
  void remove_all(std::vector<OldPart>& parts) noexcept;
  static void drop_first(layout::PartSet& set, std::vector<layout::CommitRow>& commits,
                         std::map<Key, Last>& last, std::uint64_t steps);
  /// The removed parts: those without a mapping, except for `active` ones (ids).
  std::vector<OldPart> drop_parts(layout::PartSet& set, std::map<Key, Last>& last,
                                  const std::set<std::uint64_t>& active) const;

  storage::Storage& storage_;
  std::string path_;
  IndexName name_;
  layout::hdf5::Profile profile_;
  layout::PartSet set_;
  std::vector<model::Definition> definitions_;
  std::vector<model::Attribute> attributes_;
  std::vector<layout::CommitRow> commits_;
  std::map<std::uint32_t, std::vector<std::byte>> scalars_;
  std::map<Key, Last> last_;
  std::uint64_t steps_ = 0;
  std::vector<model::Attribute> committed_attributes_;
  ReplacedSet replaced_;
  std::vector<OldPart> dropped_;  ///< parts that the last commit dropped
  std::vector<OldPart> older_;    ///< those that commits before it did
  bool has_time_ = false;
  bool poisoned_ = false;
  bool has_no_journal_ = false;  ///< beside it, and none can reappear
};

}  // namespace sluice::commit
