// The index of a set of parts, on the one rank that writes it.
//
// Every commit writes the whole index anew under a temporary name and renames it: a reader has the
// old index or the new one, and both only mention rows that are in the parts already. So the parts
// may be ahead of the index, by a commit that is under way or one that failed, but never behind it.
//
// Invariants: holds the writer lease of the index; what a commit adds is kept only if its rename
// took place; part numbers of the set, and of a set that this one replaces, are never used again,
// so the replaced set stays whole until the first commit. Its parts are removed after that (those
// that this rank can reach; a failure to do so is no error).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "commit/parts_writer.hpp"
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
  /// The lowest number from which `count` parts in `folder` have paths that are not in use.
  std::uint64_t first_number(const std::string& folder, int count) const;

  void set_attribute(const model::Attribute& attribute);
  /// Enters what the groups wrote and makes it visible. `definitions`: of the whole, those of
  /// before first. Returns the number of the step. On an Error nothing has changed.
  std::uint64_t commit(const std::vector<model::Definition>& definitions, const FileCommit& commit,
                       const std::vector<PartNews>& news);
  /// Writes the index again without the steps from number `steps` on. The parts stay as they are.
  void drop_steps(std::uint64_t steps, bool synced);
  /// The index is on stable storage, and so is its name.
  void sync();

  /// Writes the index again with other paths of its parts, one a part.
  void move_parts(const std::vector<std::string>& paths, bool synced);

 private:
  /// Where the boxes of a variable in a part are since the last commit that wrote it.
  struct Last {
    std::vector<std::uint32_t> mappings;
  };
  using Key = std::pair<std::uint32_t, std::uint32_t>;  ///< part, variable

  void load();
  void note_replaced();
  void enter(layout::PartSet& set, const PartNews& news, std::uint64_t step,
             std::map<Key, Last>& last) const;
  void write(const layout::PartSet& set, const std::vector<model::Definition>& definitions,
             const std::vector<layout::CommitRow>& commits, bool synced);
  void remove_replaced() noexcept;

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
  std::vector<std::string> replaced_;  ///< parts of the set that this one replaces, as paths
  bool has_time_ = false;
  bool poisoned_ = false;
};

}  // namespace sluice::commit
