// The index of a set of parts, on the one rank that writes it.
//
// Every commit writes the whole index anew under a temporary name and renames it: a reader has the
// old index or the new one, and both only mention rows that are in the parts already. So the parts
// may be ahead of the index, by a commit that is under way or one that failed, but never behind it.
//
// Invariants: holds the writer lease of the index; what a commit adds is kept only if its rename
// took place, and, where it is synced, the folder's sync. Where that sync fails, the index before
// is put back in the same way, so that a step that failed is not in the file; where even that
// fails, or the name belonged to another file before, the index is poisoned: only opening it again
// tells. A set that is replaced stays whole until the first commit is durable; then its parts are
// removed (those that this rank can reach; a failure to do so is no error).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "commit/parts/parts_writer.hpp"
#include "commit/publish/parts_files.hpp"
#include "layout/hdf5/index.hpp"
#include "layout/part_set.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class PartsIndex {
 public:
  /// A new set, whose index is written as `profile` says (stacked, or netcdf4), or one that is
  /// there, which goes on as it began. Error exists, locked; on append format where `path` is no
  /// index, changed_outside where it holds what another program added (rewriting would lose it).
  PartsIndex(storage::Storage& storage, const std::string& path, const std::string& strategy,
             Opening opening, layout::hdf5::Profile profile = layout::hdf5::Profile::stacked);

  const layout::PartSet& set() const noexcept { return set_; }
  layout::hdf5::Profile profile() const noexcept { return profile_; }
  /// The variables of the set, in its order.
  const std::vector<model::Definition>& definitions() const noexcept { return definitions_; }
  std::uint64_t steps() const noexcept { return steps_; }
  /// Was there a dataset of the steps' times when the index was opened?
  bool has_time() const noexcept { return has_time_; }
  bool poisoned() const noexcept { return poisoned_; }
  /// Lease::notice() of the lease.
  std::string lease_notice() const { return lease_ ? lease_->notice() : std::string(); }
  /// A number above those of all parts of the set that are in use, wherever they are.
  std::uint64_t next_number() const;
  /// Removes the parts of this set in `folder` that a run which died had dropped: those right below
  /// the lowest number that is in use. What cannot be removed stays.
  void remove_orphans(const std::string& folder) noexcept;

  void set_attribute(const model::Attribute& attribute);
  /// Enters what the groups wrote and makes it visible. `definitions`: of the whole, those of
  /// before first. Returns the number of the step. On an Error nothing has changed. `keep`: only
  /// the last so many steps stay, and are numbered anew; 0: all.
  std::uint64_t commit(const std::vector<model::Definition>& definitions, const FileCommit& commit,
                       const std::vector<PartNews>& news, std::uint64_t keep = 0);
  /// Removes the files of the parts that earlier commits dropped; with `all` those of the last one
  /// too, the index before which a reader may still have open. Only where no index that mentions
  /// them can come back. With `all` also those of the set that was replaced.
  void remove_dropped(bool all) noexcept;
  /// Writes the index again without the steps from number `steps` on. The parts stay as they are.
  void drop_steps(std::uint64_t steps, bool synced);
  /// The index is on stable storage, and so is its name.
  void sync();

  /// Writes the index again, durably, without the last steps where these are what the parts `lost`
  /// (by number) hold, and without what only they need; the rest of that is removed. False, and
  /// nothing has changed: earlier steps need them too, or nothing would be left.
  bool forget_parts(const std::vector<std::size_t>& lost);
  /// Writes the index again with other paths of its parts, one a part.
  void move_parts(const std::vector<std::string>& paths, bool synced);

 private:
  /// Where the boxes of a variable in a part are since the last commit that wrote it.
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
  void enter(layout::PartSet& set, const PartNews& news, std::uint64_t step,
             std::map<Key, Last>& last) const;
  /// Writes an index and makes it the present one. On an Error the one before is, or the index is
  /// poisoned.
  void replace(const layout::hdf5::Index& index, bool synced);
  void write(const layout::hdf5::Index& index, bool synced);
  /// The index as the last commit left it; only what the next one changes is left to be said.
  layout::hdf5::Index present() const;
  /// After a write() whose folder could not be synced. False: it is not known what is there.
  bool put_back() noexcept;
  void remove_journal(bool synced);
  void remove_all(std::vector<OldPart>& parts) noexcept;
  static void drop_first(layout::PartSet& set, std::vector<layout::CommitRow>& commits,
                         std::map<Key, Last>& last, std::uint64_t steps);
  /// The parts that went: those without a mapping, but for `active` ones (ids).
  std::vector<OldPart> drop_parts(layout::PartSet& set, std::map<Key, Last>& last,
                                  const std::set<std::uint64_t>& active) const;

  storage::Storage& storage_;
  std::string path_;
  std::unique_ptr<storage::Lease> lease_;
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
  /// What has the name of the index: nothing, a file that is to be replaced, an index of this set.
  enum class Named : std::uint8_t { nothing, another, own };
  Named named_ = Named::nothing;
  bool has_time_ = false;
  bool poisoned_ = false;
  bool has_no_journal_ = false;  ///< beside it, and none comes back
};

}  // namespace sluice::commit
