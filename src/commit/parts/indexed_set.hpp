// What the index of a set of parts says, and how a commit changes that: a value, which no file
// follows. PartsIndex changes a copy of it, and writes that.
//
// Invariant: a part stays in it as long as a step does that refers to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "commit/parts/part_news.hpp"
#include "commit/publish/parts_files.hpp"
#include "commit/write/file_commit.hpp"
#include "layout/catalog.hpp"
#include "layout/hdf5/index.hpp"
#include "layout/part_set.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class IndexedSet {
 public:
  IndexedSet() = default;
  /// A new set, whose index at `path` is written as `profile` says (stacked, or netcdf4).
  IndexedSet(const std::string& path, layout::hdf5::Profile profile);
  /// What the index `file` says, which is at `path`. Error format if it is none, damaged,
  /// changed_outside if another program added something to it (rewriting would lose it).
  IndexedSet(const std::string& path, storage::File& file);

  const layout::PartSet& set() const noexcept { return set_; }
  layout::hdf5::Profile profile() const noexcept { return profile_; }
  /// The variables of the set, in its order.
  const std::vector<model::Definition>& definitions() const noexcept { return definitions_; }
  const std::vector<model::Attribute>& attributes() const noexcept { return attributes_; }
  std::uint64_t steps() const noexcept { return steps_; }
  /// Did a dataset of the steps' times exist when the index was read?
  bool has_time() const noexcept { return has_time_; }
  /// Of all parts of the set that are in use, in any folder.
  std::set<std::uint64_t> part_numbers() const;
  /// A number above those.
  std::uint64_t next_number() const {
    const std::set<std::uint64_t> used = part_numbers();
    return used.empty() ? 0 : *used.rbegin() + 1;
  }
  /// What is to be written; refers to this object.
  layout::hdf5::Index index() const {
    return {definitions_, &set_, attributes_, commits_, &scalars_, profile_};
  }

  void set_strategy(const std::string& strategy) { set_.strategy = strategy; }
  void set_attributes(const std::vector<model::Attribute>& attributes) { attributes_ = attributes; }
  /// Adds what the groups wrote. `definitions`: of the whole, those of earlier steps first. `keep`:
  /// only the last that many steps stay, and are renumbered; 0: all. `shared`: variables of which
  /// nothing was written, because the step shared_lag(keep) before has their values: this one
  /// refers to the same place. Returns the parts that go: those without a mapping, except for those
  /// of `news`.
  std::vector<OldPart> commit(const std::vector<model::Definition>& definitions,
                              const FileCommit& commit, const std::vector<PartNews>& news,
                              std::uint64_t keep, const std::vector<std::uint32_t>& shared);
  /// How many steps before the present one the bytes lie that a step may share. Where two are kept,
  /// not those of the last step: so no two steps that follow one another share any, and a damage
  /// leaves one of them whole.
  static std::uint64_t shared_lag(std::uint64_t keep) { return std::min<std::uint64_t>(keep, 2); }
  /// Of the variables of which every rank had the same values in the last `alike` steps: those
  /// that the next step may share. The parts that stay for it have at most as many bytes as the
  /// values of the last step, so that a set takes at most twice the room.
  std::vector<std::uint32_t> sharable(const std::vector<std::int64_t>& alike,
                                      std::uint64_t keep) const;
  /// The same without the steps from number `step` on, with all parts.
  IndexedSet before_step(std::uint64_t step) const;
  /// The same with other paths of its parts, one a part.
  IndexedSet with_parts_at(const std::vector<std::string>& paths) const;
  /// Drops the parts without a mapping, except for `active` ones (ids). Returns them.
  std::vector<OldPart> drop_parts(const std::set<std::uint64_t>& active);
  /// The first of the last steps, which are what the parts `lost` (by number) hold. Empty: earlier
  /// steps need them too, or nothing would be left.
  std::optional<std::uint64_t> first_lost_step(const std::vector<std::size_t>& lost) const;

 private:
  /// The location of a variable's boxes in a part since the last commit that wrote it.
  struct Place {
    layout::Mapping mapping;   ///< as the last commit had it
    std::uint32_t number = 0;  ///< among those of the set, or no_number
  };
  static constexpr std::uint32_t no_number = 0xffffffff;  ///< its steps were dropped
  using Key = std::pair<std::uint32_t, std::uint32_t>;    ///< part, variable
  /// The numbers of parts by their ids: with as many parts as ranks, none is searched for.
  using PartNumbers = std::unordered_map<std::uint64_t, std::uint32_t>;

  void log_commit(std::uint64_t step, double time);
  /// The changes of a commit by one group.
  void enter(const PartNews& news, PartNumbers& numbers);
  std::uint32_t enter_part(const layout::Part& part, PartNumbers& numbers);
  void share(const std::vector<std::uint32_t>& shared, std::uint64_t from);
  void drop_first(std::uint64_t steps);

  std::string path_;
  layout::hdf5::Profile profile_ = layout::hdf5::Profile::stacked;
  layout::PartSet set_;
  std::vector<model::Definition> definitions_;
  std::vector<model::Attribute> attributes_;
  std::vector<layout::CommitRow> commits_;
  std::map<std::uint32_t, std::vector<std::byte>> scalars_;
  std::map<Key, std::vector<Place>> last_;
  std::uint64_t steps_ = 0;
  bool has_time_ = false;
};

}  // namespace sluice::commit
