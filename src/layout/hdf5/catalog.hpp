// What an HDF5 file contains and where: the reading side of the layout.
//
// Opened on one rank; the others get Placements. Addresses of chunks are recorded by the planner
// driver (H5Dread_chunk into the placeholder), so no raw data is read here and a look-up costs one
// walk of the chunk index, in files of Sluice and of any other program.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "layout/hdf5/dataset_facts.hpp"
#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/links.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/profile.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/placement.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

using layout::StoredVariable;
using layout::UnreadableDataset;

/// Size: It implements all functions of layout::Catalog, each by its own look-ups in HDF5.
class Catalog final : public layout::Catalog {
 public:
  /// Reads the structure of `file` (which must outlive the catalog). Error format if it is not
  /// HDF5, truncated if it is shorter than its superblock says, version if /sluice has a newer
  /// major.
  static std::unique_ptr<Catalog> open(storage::File& file);

  /// The content of an open file with a log, for its contents_attribute. `set`: the set that it
  /// indexes, or nullptr.
  static Contents contents_of(hid_t file, storage::File& holder, Profile profile,
                              const PartSet* set);
  /// Writes them.
  static void write_contents(hid_t file, const Contents& contents);
  /// Those written to the group /sluice of the file at `path`; Error damaged if there are none.
  static Contents read_contents(hid_t group, const std::string& path);

  const char* format() const override;
  std::string title() const override;
  /// Error format unless Sluice wrote the file.
  void require_ours() const;
  /// How Sluice arranged the objects of the file; stacked for files of other programs.
  Profile profile() const noexcept { return profile_; }
  /// openPMD: the iteration of each step.
  const std::vector<std::uint64_t>& step_numbers() const noexcept { return step_numbers_; }
  /// Did netCDF make it, or Sluice as netCDF would?
  bool is_of_netcdf() const;
  /// Rows between steps that follow one another in the variable's dataset; 0: they are stacked.
  std::uint64_t slot(std::uint32_t variable) const;
  std::uint64_t checksum_chunk_words() const noexcept { return checksum_chunk_words_; }
  std::uint64_t checksum_chunks() const noexcept { return checksum_chunks_; }
  /// Error unsupported if another program's copy of the file has its log or its steps in a form
  /// that cannot grow as Sluice needs.
  void require_growable() const;

  Placement locate(std::uint32_t variable, std::uint64_t step, const model::Box& region) override;
  EncodedTiles locate_encoded(std::uint32_t variable, std::uint64_t step,
                              const model::Box& region) override;
  void read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
            std::span<std::byte> out) override;
  std::vector<std::uint64_t> rows_by_step(std::uint32_t variable) override;
  std::vector<std::uint64_t> parts(std::uint32_t variable, std::uint64_t step) override;
  std::vector<std::uint64_t> checksum_words(const CommitRow& commit) override;
  std::vector<model::Attribute> attributes() override;
  std::vector<layout::UnreadableDataset> other_objects() override;
  /// The end of the file according to its superblock.
  std::uint64_t end_of_allocation() const noexcept { return state_.end_of_allocation; }

 private:
  Catalog() = default;
  void open_file(storage::File& file);
  void load_log();
  void load_checksums();
  void list_datasets();
  /// `prefix`: the length of the start of each path that is not part of a variable's name.
  void list(const std::vector<NamedLink>& links, std::size_t prefix);
  /// Another name of `known_as`; `variable`: its index, if it can be read.
  void add_name(const std::string& name, const std::string& known_as,
                const StoredVariable* variable);
  /// Is it a variable? What cannot be read is listed with its reason; if the last commit says that
  /// it is Sluice's, an Error is thrown.
  bool add_readable(const std::string& path, const std::string& name);
  void add_dataset(const std::string& path, const std::string& name);
  void add_array(hid_t dataset, const std::string& path, const std::string& name, StoredType stored,
                 Extents extents);
  /// Is it an array whose steps follow one another? Then `variable` is told so.
  bool add_in_a_row(hid_t dataset, const std::string& name, const Type& type,
                    const model::Dims& extents, StoredVariable& variable);
  std::vector<std::uint64_t> numbers_of(const std::string& path, std::uint64_t first,
                                        std::uint64_t count);
  /// Does each step of the array that add_in_a_row() just added begin with a chunk?
  bool has_whole_chunks(const model::Dims& chunk) const;
  /// Dimensions of the dataset that are none of a step's: 1 where the steps are in front.
  std::size_t lead(std::uint32_t variable) const;
  /// The first element of a step along the dataset's first dimension.
  std::uint64_t first_row(std::uint32_t variable, std::uint64_t step) const;
  /// Must chunks that end beyond the dataset be stored without its filters?
  bool has_plain_edges(const StoredVariable& variable) const;
  void take_storage(hid_t list, bool is_whole, const std::string& path, StoredVariable& variable);
  void take_rounding(hid_t dataset, model::Definition& definition) const;
  /// nccopy keeps the attribute of a partial variable, but not always the fill value of the
  /// dataset.
  void take_fill_attribute(hid_t dataset, model::Definition& definition);
  /// Grouped form: are a variable's datasets as Sluice writes them, not copies of another program
  /// in chunks?
  bool are_plain_steps(const std::string& name);
  void leave_copied_set();
  void take_off_prefixes();
  std::vector<std::string> names_by_number(hid_t dataset);
  std::vector<std::string> dimensions_of(hid_t dataset, const std::string& name, int rank);
  model::Definition describe(hid_t dataset, const std::string& name, const Type& type,
                             const model::Dims& shape);
  /// Adds it as a variable with steps, or a fixed one.
  model::Definition describe(hid_t dataset, const std::string& name, const Type& type,
                             const Extents& extents, H5D_layout_t layout, const model::Dims& chunk);
  void take_attributes(const std::string& path, const std::string& owner,
                       std::vector<model::Attribute>& into);
  bool has_attributes(const std::string& path);
  bool is_grouped(std::uint32_t variable) const;
  /// Grouped form: the path of the group of a step.
  std::string group_of(std::uint64_t step) const;
  void take_attributes_of_times(std::vector<model::Attribute>& into);
  /// Is it netCDF text: characters, with their number as the last dimension?
  bool is_characters(std::uint32_t variable) const { return characters_.count(variable) != 0; }
  bool is_stepped_in_set(const std::string& name) const;
  Handle open_lengths(const std::string& name, const std::string& variable);
  /// Is it a variable with elements in the set?
  bool is_mapped(const std::string& name);
  /// Is it virtual, made from other files by another program?
  bool is_virtual_of_others(std::uint32_t variable) {
    return variables_[variable].storage == "virtual" &&
           !is_mapped(variables_[variable].definition.name);
  }
  /// The file as libhdf5 alone opens it, together with files that it refers to.
  hid_t with_others();
  storage::Storage& others_storage();
  /// The dataset with a step of a variable; -1 if it does not have the step.
  hid_t dataset(std::uint32_t variable, std::uint64_t step);
  Placement locate_chunks(std::uint32_t variable, std::uint64_t step, const model::Box& region);
  /// Calls visit(tile, extent, mask) for the existing chunks of a step that overlap the region;
  /// `most_bytes`: limit of a chunk.
  void visit_chunks(std::uint32_t variable, std::uint64_t step, const model::Box& region,
                    std::uint64_t most_bytes,
                    const std::function<void(std::uint64_t, const Extent&, std::uint32_t)>& visit);
  std::string object_of(const std::string& owner) const;
  struct Open {
    std::uint64_t step = 0;
    Handle handle;
  };
  std::vector<std::string> groups_;        ///< without the library's own
  std::vector<UnreadableDataset> others_;  ///< committed types
  std::set<std::string> used_groups_;      ///< with something in them
  std::set<std::string> plain_scales_;     ///< of dimensions without coordinates
  /// The scales of netCDF by their number, once they are asked for.
  std::optional<std::map<std::int32_t, std::string>> numbered_scales_;
  std::optional<std::set<std::string>> mapped_;  ///< variables of which the set has elements
  DriverState state_;
  Handle hdf5_;
  std::shared_ptr<storage::Storage> others_storage_;
  DriverState others_state_;
  Handle with_others_;
  Profile profile_ = Profile::stacked;
  bool has_netcdf_provenance_ = false;  ///< the file says that a netCDF program made it
  std::vector<std::uint64_t> step_numbers_;
  bool is_log_growable_ = true;
  std::uint64_t checksum_chunk_words_ = 0;
  std::uint64_t checksum_chunks_ = 0;
  std::set<std::uint32_t> characters_;
  std::map<std::uint32_t, std::uint64_t> slots_;  ///< of arrays whose steps follow one another
  std::map<std::uint32_t, Open> open_datasets_;   ///< the last one of each variable
  LastTile last_tile_;
};

}  // namespace sluice::layout::hdf5
