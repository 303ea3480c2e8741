#include "layout/hdf5/index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <unordered_set>
#include <vector>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/contents.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/file_contents.hpp"
#include "layout/hdf5/links.hpp"
#include "layout/hdf5/netcdf_attributes.hpp"
#include "layout/hdf5/part_identity.hpp"
#include "layout/hdf5/scales.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/hdf5/virtual_mappings.hpp"
#include "layout/times.hpp"

namespace sluice::layout::hdf5 {

namespace {

using model::Dims;

void add_dimension(model::Box& box, std::uint64_t start, std::uint64_t count) {
  box.start.push_back(start);
  box.count.push_back(count);
}

/// A dataspace of `extent` of which a box is selected.
class Selected {
 public:
  explicit Selected(const Dims& extent) : space_(dataspace(extent)) {}
  hid_t select(const model::Box& box) {
    check(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, hsizes_of(box.start).data(), nullptr,
                              hsizes_of(box.count).data(), nullptr),
          "selection");
    return space_.get();
  }

 private:
  Handle space_;
};

/// Builds the file in the overlay of a planner driver, and writes it as one image.
class IndexWriter {
 public:
  IndexWriter(storage::File& file, const Index& index, MappedBy by)
      : file_(file), index_(index), placeholders_(index.set->id) {
    state_.file = &file;
    state_.writable = true;
    for (const CommitRow& row : index.commits) {
      steps_ += row.step != CommitRow::no_step ? 1 : 0;
    }
    mappings_.resize(index.definitions.size());
    for (const Mapping& mapping : index.set->mappings) {
      mappings_[mapping.variable].push_back(&mapping);
    }
    for (const model::Definition& definition : index.definitions) {
      names_.insert(definition.name);
    }
    const std::vector<Part>& parts = index.set->parts;
    const std::vector<std::string>& datasets = index.set->datasets;
    by_blocks_ = by == MappedBy::blocks &&
                 std::all_of(parts.begin(), parts.end(),
                             [](const Part& part) { return is_literal_source(part.path); }) &&
                 std::all_of(datasets.begin(), datasets.end(), is_literal_source);
  }

  void run() {
    open();
    write_log();
    write_times();
    for (std::uint32_t v = 0; v < index_.definitions.size(); ++v) {
      make_variable(v);
    }
    for (const model::Definition& definition : index_.definitions) {
      attach_dimensions(definition);  // when all coordinate variables exist
    }
    for (const model::Attribute& attribute : index_.attributes) {
      write(attribute);
    }
    Contents contents = contents_of(hdf5_.get(), file_, index_.profile, index_.set);
    record_fills(contents, {index_.definitions.begin(), index_.definitions.end()});
    write_contents(hdf5_.get(), contents);
    scales_.seal(hdf5_.get());
    group_list_.reset();
    check(H5Fclose(hdf5_.release()), file_.path());
    if (!state_.failure.empty()) {
      throw Error(Code::io, state_.failure);
    }
    std::vector<std::byte> image(state_.end_of_allocation);
    state_.overlay.read_over(0, image);
    fill_blocks(image);
    file_.write(0, image);
  }

 private:
  bool is_netcdf() const { return index_.profile == Profile::netcdf4; }

  void open() {
    const Handle access = access_list(state_);
    const Handle creation = ordered_list(H5P_FILE_CREATE);
    group_list_ = ordered_list(H5P_GROUP_CREATE);
    hdf5_ = own(H5Fcreate(file_.path().c_str(), H5F_ACC_TRUNC, creation.get(), access.get()),
                file_.path());
  }

  Handle make(const std::string& name, hid_t type, hid_t space, hid_t list) {
    make_groups_above(hdf5_.get(), name, group_list_.get());
    set_order(list, name);
    return create_dataset(hdf5_.get(), name, type, space, list);
  }

  Handle make_filled(const std::string& name, hid_t type, const Dims& dims, const void* data) {
    const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), name);
    Handle dataset = make(name, type, dataspace(dims).get(), list.get());
    if (dims.volume() != 0) {
      check(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), name);
    }
    return dataset;
  }

  void write_log() {
    make_groups_above(hdf5_.get(), commits_name, group_list_.get());
    const Handle group = own(H5Gopen2(hdf5_.get(), group_name, H5P_DEFAULT), group_name);
    write_version(group.get());
    write_attribute(group.get(), set_id_name, std::bit_cast<std::int64_t>(index_.set->id));
    if (is_netcdf()) {
      write_attribute(group.get(), layout_attribute, std::string(profile_name(index_.profile)));
      write_netcdf_properties(hdf5_.get());
    }
    std::vector<std::uint64_t> rows;
    for (const CommitRow& row : index_.commits) {
      const auto words = row.pack();
      rows.insert(rows.end(), words.begin(), words.end());
    }
    make_filled(commits_name, H5T_STD_U64LE, {index_.commits.size(), CommitRow::words},
                rows.data());
    const std::vector<std::uint64_t> words = index_.set->words();
    make_filled(parts_name, H5T_STD_U64LE, {words.size()}, words.data());
  }

  void write_times() {
    std::vector<double> times;
    bool any = false;
    for (const CommitRow& row : index_.commits) {
      if (row.step != CommitRow::no_step) {
        times.push_back(row.time);
        any = any || !std::isnan(row.time);
      }
    }
    if (is_time_taken(index_.definitions) || has_fixed_time(index_.profile, index_.definitions)) {
      return;
    }
    const bool has_steps =
        !times.empty() || std::any_of(index_.definitions.begin(), index_.definitions.end(),
                                      [](const model::Definition& d) { return d.stepped; });
    has_times_ = (is_netcdf() && has_steps) || any;
    if ((is_netcdf() && has_steps) || (uses_scales(index_.profile, index_.definitions) && any)) {
      make_unlimited_times(times);
    } else if (any) {
      make_filled(time_name, H5T_IEEE_F64LE, {times.size()}, times.data());
    }
  }

  /// The unlimited dimension of netCDF is that of its coordinate variable.
  void make_unlimited_times(const std::vector<double>& times) {
    const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), time_name);
    set_chunk(list.get(), {512}, time_name);
    const Handle space = growing_space({times.size()}, time_name);
    const Handle dataset = make(time_name, H5T_IEEE_F64LE, space.get(), list.get());
    if (!times.empty()) {
      check(H5Dwrite(dataset.get(), H5T_IEEE_F64LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, times.data()),
            time_name);
    }
    if (is_netcdf()) {
      write_netcdf_attribute(dataset.get(), "units", std::string("1"));
    }
    scales_.make_coordinate(dataset.get(), time_name);
  }

  void attach_dimensions(const model::Definition& definition) {
    const std::vector<netcdf4::Use> uses = uses_of(index_.profile, definition);
    const bool has_time = false;  // where there is one, it is a scale by now
    if (is_coordinate(index_.profile, definition) ||
        !may_have_scales(index_.profile, uses, index_.definitions, scales_, has_time)) {
      return;
    }
    const Handle dataset =
        own(H5Dopen2(hdf5_.get(), definition.name.c_str(), H5P_DEFAULT), definition.name);
    std::vector<std::string> names;
    for (const netcdf4::Use& use : uses) {
      if (!scales_.has(use.name)) {
        scales_.make_plain(hdf5_.get(), use.name, use);
      }
      names.push_back(use.name);
    }
    scales_.attach(hdf5_.get(), dataset.get(), definition.name, names);
  }

  void make_variable(std::uint32_t variable) {
    const model::Definition& definition = index_.definitions[variable];
    const Handle type = type_in_file(index_.profile, definition.type);
    const auto scalar = index_.scalars->find(variable);
    if (scalar != index_.scalars->end()) {
      const Handle dataset =
          make_filled(definition.name, type.get(), dims_in_file(index_.profile, definition, {}),
                      scalar->second.data());
      mark(index_.profile, dataset.get(), definition);
      return;
    }
    const Handle list = creation_list(index_.profile, definition);
    const Dims shape = dims_in_file(index_.profile, definition, definition.shape);
    const Dims dims = definition.stepped ? shape.with_front(steps_) : shape;
    if (!dims.empty() && !mappings_[variable].empty()) {
      map(variable, dims, list.get());
    }
    const Handle dataset = make(definition.name, type.get(), dataspace(dims).get(), list.get());
    mark(index_.profile, dataset.get(), definition);
    if (is_coordinate(index_.profile, definition)) {
      scales_.make_coordinate(dataset.get(), definition.name);
    }
  }

  void map(std::uint32_t variable, const Dims& dims, hid_t list) {
    const std::string& name = index_.definitions[variable].name;
    std::uint64_t block_bytes = empty_block_bytes;
    for (const Mapping* const mapping : mappings_[variable]) {
      const VirtualMapping found = virtual_mapping(*mapping);
      check_mapping(found, dims, name);
      block_bytes += bytes_in_block(found);
    }
    if (by_blocks_ && placeholders_.fits(block_bytes)) {
      placeholders_.add(list, dims, variable, block_bytes, name);
    } else {
      map_by_library(variable, dims, list);
    }
  }

  void map_by_library(std::uint32_t variable, const Dims& dims, hid_t list) {
    Selected whole(dims);
    for (const Mapping* const mapped : mappings_[variable]) {
      const VirtualMapping mapping = virtual_mapping(*mapped);
      Dims extent = mapping.source.start;  // of the part's dataset: only the selection matters
      for (int d = 0; d < extent.rank(); ++d) {
        extent[d] = mapping.source.end(d);
      }
      Selected source(extent);
      check(H5Pset_virtual(list, whole.select(mapping.target), mapping.file.c_str(),
                           mapping.dataset.c_str(), source.select(mapping.source)),
            index_.definitions[variable].name);
    }
  }

  VirtualMapping virtual_mapping(const Mapping& mapping) const {
    const model::Definition& definition = index_.definitions[mapping.variable];
    const model::Box& box = mapping.box;
    const PartSet& set = *index_.set;
    VirtualMapping made{set.parts[mapping.part].path, set.datasets[mapping.dataset], {}, {}};
    if (definition.stepped) {
      add_dimension(made.source, mapping.first_row, mapping.steps);
      add_dimension(made.target, mapping.first_step, mapping.steps);
    }
    if (mapping.listed) {
      add_dimension(made.source, mapping.offset, box.volume());
    }
    for (int d = 0; d < box.count.rank(); ++d) {
      if (!mapping.listed) {
        add_dimension(made.source, 0, box.count[d]);
      }
      add_dimension(made.target, box.start[d], box.count[d]);
    }
    for (const std::uint64_t characters : dims_in_file(index_.profile, definition, {})) {
      add_dimension(made.source, 0, characters);
      add_dimension(made.target, 0, characters);
    }
    return made;
  }

  /// Writes the mappings where libhdf5 has made place for them.
  void fill_blocks(std::span<std::byte> image) const {
    for (const auto& [variable, block] : placeholders_.find(image, file_.path())) {
      BlockWriter writer(block, mappings_[variable].size());
      for (const Mapping* const mapping : mappings_[variable]) {
        writer.put(virtual_mapping(*mapping));
      }
      writer.finish();
    }
  }

  void write(const model::Attribute& attribute) {
    const bool is_variable = names_.count(attribute.owner) != 0;
    if (attribute.owner == time_name && !is_variable && !has_times_ &&
        !is_time_taken(index_.definitions)) {
      return;  // until a step has a time
    }
    if (!is_variable && !attribute.owner.empty()) {
      make_groups_above(hdf5_.get(), attribute.owner + "/x", group_list_.get());
    }
    const std::string owner = attribute.owner.empty() ? "/" : attribute.owner;
    const Handle object = own(H5Oopen(hdf5_.get(), owner.c_str(), H5P_DEFAULT), owner);
    write_attribute_of(index_.profile, object.get(), attribute.name, attribute.value);
  }

  storage::File& file_;
  const Index& index_;
  std::vector<std::vector<const Mapping*>> mappings_;  ///< by variable
  std::unordered_set<std::string> names_;              ///< of the variables
  std::uint64_t steps_ = 0;
  bool has_times_ = false;
  bool by_blocks_ = true;
  BlockPlaceholders placeholders_;
  DriverState state_;
  Handle hdf5_;
  Handle group_list_;
  Scales scales_;
};

}  // namespace

void write_index(storage::File& file, const Index& index, MappedBy by) {
  const QuietErrors quiet;
  IndexWriter(file, index, by).run();
}

}  // namespace sluice::layout::hdf5
