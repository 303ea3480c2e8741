#include "layout/hdf5/index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/contents.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/file_contents.hpp"
#include "layout/hdf5/links.hpp"
#include "layout/hdf5/part_identity.hpp"
#include "layout/hdf5/scales.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

namespace {

using model::Dims;

/// `start`, relative to the first dimension that only `count` has (characters of text).
Dims with_rank_of(const Dims& count, Dims start) {
  while (start.rank() < count.rank()) {
    start.push_back(0);
  }
  return start;
}

/// A dataspace of `extent` with the box at `start` selected.
class Selected {
 public:
  explicit Selected(const Dims& extent) : space_(dataspace(extent)) {}
  hid_t select(const Dims& start, const Dims& count) {
    check(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, hsizes_of(start).data(), nullptr,
                              hsizes_of(count).data(), nullptr),
          "selection");
    return space_.get();
  }

 private:
  Handle space_;
};

/// Builds the file in the overlay of a planner driver, and writes it as one image.
class IndexWriter {
 public:
  IndexWriter(storage::File& file, const Index& index) : file_(file), index_(index) {
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
    write_contents(hdf5_.get(), contents_of(hdf5_.get(), file_, index_.profile, index_.set));
    scales_.seal(hdf5_.get());
    group_list_.reset();
    check(H5Fclose(hdf5_.release()), file_.path());
    if (!state_.failure.empty()) {
      throw Error(Code::io, state_.failure);
    }
    std::vector<std::byte> image(state_.end_of_allocation);
    state_.overlay.read_over(0, image);
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
    const bool taken = names_.count(time_name) != 0;
    if (taken || has_fixed_time(index_.profile, index_.definitions)) {
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
    if (!dims.empty()) {
      map(variable, dims, list.get());
    }
    const Handle dataset = make(definition.name, type.get(), dataspace(dims).get(), list.get());
    mark(index_.profile, dataset.get(), definition);
    if (is_coordinate(index_.profile, definition)) {
      scales_.make_coordinate(dataset.get(), definition.name);
    }
  }

  void map(std::uint32_t variable, const Dims& dims, hid_t list) {
    const model::Definition& definition = index_.definitions[variable];
    Selected whole(dims);
    for (const Mapping* const mapped : mappings_[variable]) {
      const Mapping& mapping = *mapped;
      const model::Box& box = mapping.box;
      Dims from = mapping.listed ? Dims{mapping.offset} : Dims::filled(box.count.rank(), 0);
      Dims size = mapping.listed ? Dims{box.volume()} : box.count;
      Dims to = box.start;
      Dims count = box.count;
      size = dims_in_file(index_.profile, definition, size);
      count = dims_in_file(index_.profile, definition, count);
      from = with_rank_of(size, from);
      to = with_rank_of(count, to);
      if (definition.stepped) {
        from = from.with_front(mapping.first_row);
        size = size.with_front(mapping.steps);
        to = to.with_front(mapping.first_step);
        count = count.with_front(mapping.steps);
      }
      Dims extent = from;  // of the part's dataset: only the selection matters
      for (int d = 0; d < extent.rank(); ++d) {
        extent[d] += size[d];
      }
      Selected source(extent);
      check(H5Pset_virtual(
                list, whole.select(to, count), index_.set->parts[mapping.part].path.c_str(),
                index_.set->datasets[mapping.dataset].c_str(), source.select(from, size)),
            definition.name);
    }
  }

  void write(const model::Attribute& attribute) {
    const bool is_variable = names_.count(attribute.owner) != 0;
    if (attribute.owner == time_name && !is_variable && !has_times_) {
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
  DriverState state_;
  Handle hdf5_;
  Handle group_list_;
  Scales scales_;
};

}  // namespace

void write_index(storage::File& file, const Index& index) {
  const QuietErrors quiet;
  IndexWriter(file, index).run();
}

}  // namespace sluice::layout::hdf5
