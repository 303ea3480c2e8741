// Creates the objects of a file: groups, datasets, attributes, the log in /sluice.
#include <algorithm>
#include <string_view>
#include <utility>

#include "layout/chunking.hpp"
#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/fill.hpp"
#include "layout/hdf5/planner.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

Handle make_growing(hid_t file, const char* name, hid_t type, const Dims& dims, const Dims& chunk,
                    const void* fill) {
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), name);
  set_chunk(list.get(), chunk, name);
  if (fill != nullptr) {
    check(H5Pset_fill_value(list.get(), type, fill), name);
  }
  check(H5Pset_obj_track_times(list.get(), false), name);
  return create_dataset(file, name, type, growing_space(dims, name).get(), list.get());
}

namespace {

/// VTK's own group: its readers before 9.3 take text of a fixed length alone.
constexpr const char* vtk_group = "VTKHDF";

/// Rows of one 4 KiB chunk: a commit rewrites at most that much in place.
constexpr std::uint64_t rows_per_chunk = 4096 / (CommitRow::words * 8);
constexpr std::uint64_t times_per_chunk = 4096 / 8;

/// Dimensions of Sluice's own datasets: without them netCDF would invent some when it appends.
constexpr const char* commit_scale = "sluice/commit";
constexpr const char* column_scale = "sluice/column";
constexpr const char* word_scale = "sluice/word";

}  // namespace

void Hdf5Planner::make_log() {
  make_groups(std::string(group_name) + "/x");
  const Handle group = own(H5Gopen2(hdf5_.get(), group_name, H5P_DEFAULT), group_name);
  write_attribute(group.get(), version_attribute, std::int32_t{format_major});
  write_attribute(group.get(), "format_minor", std::int32_t{format_minor});
  write_attribute(group.get(), "written_by", std::string("Sluice"));
  if (profile_ != Profile::stacked) {
    write_attribute(group.get(), layout_attribute, std::string(profile_name(profile_)));
  }
  make_commits();
  if (profile_ == Profile::netcdf4) {
    netcdf4::write_properties(hdf5_.get());
  }
  if (profile_ == Profile::openpmd) {
    write_openpmd_root();
  }
}

void Hdf5Planner::make_commits() {
  own_.commits = make_growing(hdf5_.get(), commits_name, H5T_STD_U64LE, {0, CommitRow::words},
                              {rows_per_chunk, CommitRow::words});
  write_attribute(own_.commits.get(), "columns",
                  std::string("step, time (bits of float64), first checksum word, checksum words, "
                              "mtime in ns, proof of rows, iteration of openPMD, checksum"));
  if (profile_ == Profile::netcdf4) {
    scales_.make_plain(hdf5_.get(), commit_scale, {"commit", 0, true});
    scales_.make_plain(hdf5_.get(), column_scale, {"column", CommitRow::words, false});
    scales_.attach(hdf5_.get(), own_.commits.get(), commits_name, {commit_scale, column_scale});
  }
}

void Hdf5Planner::make_checksums(std::uint64_t chunk_words) {
  own_.checksums = make_growing(hdf5_.get(), checksums_name, H5T_STD_U64LE, {0}, {chunk_words});
  if (profile_ == Profile::netcdf4) {
    scales_.make_plain(hdf5_.get(), word_scale, {"word", 0, true});
    scales_.attach(hdf5_.get(), own_.checksums.get(), checksums_name, {word_scale});
  }
}

void Hdf5Planner::make_groups(const std::string& path) {
  hdf5::make_groups(hdf5_.get(), path, creation_order_.get());
}

hid_t Hdf5Planner::dataset(std::uint32_t variable) {
  Made& made = made_[variable];
  if (!made.dataset) {
    const std::string& name = definitions_[variable].name;
    made.dataset = own(H5Dopen2(hdf5_.get(), name.c_str(), H5P_DEFAULT), name);
  }
  return made.dataset.get();
}

hid_t Hdf5Planner::own_dataset(Handle& dataset, const char* name) const {
  if (!dataset) {
    Handle opened = own(H5Dopen2(hdf5_.get(), name, H5P_DEFAULT), name);
    const int rank = std::string_view(name) == commits_name ? 2 : 1;
    dims_of(opened.get(), rank, name);
    dataset = std::move(opened);
  }
  return dataset.get();
}

void Hdf5Planner::make(std::uint32_t variable, const Dims& tile, bool places_now) {
  const model::Definition definition = definitions_[variable];
  contents_changed_ = true;
  made_[variable].tile = tile;
  made_[variable].exists = true;
  if (is_grouped(profile_) && definition.stepped) {
    make_prototype(variable);
    return;
  }
  if (profile_ == Profile::netcdf4 && scales_.has(definition.name)) {
    throw Error(Code::unsupported,
                definition.name +
                    ": format netcdf4: an earlier commit made this dimension without coordinates: "
                    "define its variable before the first step that uses it");
  }
  const Handle list = creation_list(definition);
  replace_scale(definition.name.substr(0, definition.name.find('/')), [&] {
    make_groups(definition.name);
    if (definition.stepped) {
      make_stepped(variable, list.get());
    } else {
      make_fixed(variable, list.get(), places_now);
    }
    mark(profile_, dataset(variable), definition);
    if (!is_grouped(profile_)) {
      attach_dimensions(variable);
    }
  });
}

Handle Hdf5Planner::creation_list(const model::Definition& definition) const {
  Handle list = own(H5Pcreate(H5P_DATASET_CREATE), definition.name);
  check(H5Pset_obj_track_times(list.get(), false), definition.name);
  check(H5Pset_attr_creation_order(list.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
        definition.name);
  if (definition.partial) {
    set_fill(list.get(), definition, type_in_file(profile_, definition.type).get());
  }
  return list;
}

void Hdf5Planner::make_fixed(std::uint32_t variable, hid_t list, bool places_now) {
  const model::Definition& definition = definitions_[variable];
  if (is_encoded(definition)) {
    make_encoded_fixed(variable, list);
    return;
  }
  check(H5Pset_layout(list, H5D_CONTIGUOUS), definition.name);
  check(H5Pset_alloc_time(list, places_now ? H5D_ALLOC_TIME_EARLY : H5D_ALLOC_TIME_LATE),
        definition.name);
  // Elements that are never put must read as the fill value: libhdf5 reads it only if there is no
  // space.
  const bool is_filled = definition.partial && !places_now;
  check(H5Pset_fill_time(list, is_filled ? H5D_FILL_TIME_IFSET : H5D_FILL_TIME_NEVER),
        definition.name);
  const Handle type = type_in_file(profile_, definition.type);
  const Handle space = dataspace(dims_in_file(profile_, definition, definition.shape));
  made_[variable].dataset =
      create_dataset(hdf5_.get(), definition.name, type.get(), space.get(), list);
}

void Hdf5Planner::make_stepped(std::uint32_t variable, hid_t list) {
  const model::Definition& definition = definitions_[variable];
  if (is_in_a_row(definition)) {
    make_in_a_row(variable, list);
    return;
  }
  const Handle type = type_in_file(profile_, definition.type);
  const Dims shape = dims_in_file(profile_, definition, definition.shape);
  const Dims tile = dims_in_file(profile_, definition, made_[variable].tile);
  const Handle space = growing_space(shape.with_front(0), definition.name);
  set_chunk(list, tile.with_front(1), definition.name);
  set_filters(variable, list);
  made_[variable].dataset =
      create_dataset(hdf5_.get(), definition.name, type.get(), space.get(), list);
}

void Hdf5Planner::make_all() {
  const QuietErrors quiet;
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (!made_[v].exists) {
      make(v, untouched_tile(definitions_[v], 0), !definitions_[v].partial);
    }
    if (definitions_[v].stepped && !is_grouped(profile_)) {
      extend(v, steps_);
    }
  }
}

bool Hdf5Planner::is_variable(const std::string& name) const {
  return std::any_of(definitions_.begin(), definitions_.end(),
                     [&](const model::Definition& d) { return d.name == name; });
}

void Hdf5Planner::apply_attributes() {
  std::vector<model::Attribute> waiting;
  for (model::Attribute& attribute : pending_) {
    if (apply(attribute)) {
      applied_.push_back(std::move(attribute));
    } else {
      waiting.push_back(std::move(attribute));  // until a commit creates its owner
    }
  }
  pending_ = std::move(waiting);
}

bool Hdf5Planner::apply(const model::Attribute& attribute) {
  const auto known = std::find_if(definitions_.begin(), definitions_.end(),
                                  [&](const auto& d) { return d.name == attribute.owner; });
  const bool is_ours = known != definitions_.end() || attribute.owner == time_name;
  std::string path = attribute.owner.empty() ? "/" : attribute.owner;
  if (attribute.owner == time_name && known == definitions_.end() && !has_time_) {
    if (!is_grouped(profile_) || is_iteration(attribute)) {
      return false;  // until a step has a time, or takes the number
    }
    inherited_.push_back(attribute);
    return true;
  }
  if (known != definitions_.end() && known->stepped && is_grouped(profile_)) {
    path = prototype_path(attribute.owner);
    if (!made_[static_cast<std::size_t>(known - definitions_.begin())].exists) {
      return false;
    }
    inherited_.push_back(attribute);
  } else if (profile_ == Profile::openpmd && openpmd::is_of_iteration(attribute.owner)) {
    path = prototype_path(attribute.owner);
    make_groups(path + "/x");
    inherited_.push_back(attribute);
  } else if (is_ours) {
    if (!has_link(hdf5_.get(), path)) {
      return false;
    }
  } else if (!attribute.owner.empty()) {
    make_groups(attribute.owner + "/x");
  }
  contents_changed_ = true;
  const Handle holder = own(H5Oopen(hdf5_.get(), path.c_str(), H5P_DEFAULT), path);
  const hid_t object = holder.get();
  const auto* text = std::get_if<std::string>(&attribute.value);
  if (text != nullptr && attribute.owner == vtk_group) {
    write_fixed_text(object, attribute.name, *text);
  } else {
    write_attribute_of(profile_, object, attribute.name, attribute.value);
  }
  return true;
}

void Hdf5Planner::make_time() {
  replace_scale(time_name, [&] {
    const double none = std::nan("");  // of steps without a time
    own_.time = make_growing(hdf5_.get(), time_name, H5T_IEEE_F64LE, {0}, {times_per_chunk}, &none);
    has_time_ = contents_changed_ = true;
    if (profile_ == Profile::netcdf4) {
      netcdf4::write_attribute(own_.time.get(), "units", std::string("1"));
    }
    if (profile_ == Profile::netcdf4 || names_dimensions()) {
      scales_.make_coordinate(own_.time.get(), time_name);
    }
  });
}

/// Does the time of a step go to the library's own `time`?
bool Hdf5Planner::keeps_time(double time) const {
  // In an appended file it is among the known variables too.
  const bool is_callers =
      !has_time_ && (is_variable(time_name) || has_fixed_time(profile_, definitions_));
  const bool is_needed = profile_ == Profile::netcdf4 || has_time_ || !std::isnan(time);
  return is_needed && !is_callers && !is_grouped(profile_);
}

void Hdf5Planner::append_time(std::uint64_t step, double time) {
  if (!keeps_time(time)) {
    return;
  }
  if (!has_time_) {
    make_time();
  }
  const hid_t dataset = own_dataset(own_.time, time_name);
  set_extent(dataset, {step + 1}, time_name);
  write_rows(dataset, time_name, H5T_NATIVE_DOUBLE, step, {1}, &time);
}

void Hdf5Planner::append_row(const CommitRow& row) {
  const hid_t dataset = own_dataset(own_.commits, commits_name);
  set_extent(dataset, {rows_ + 1, CommitRow::words}, commits_name);
  const auto words = row.pack();
  write_rows(dataset, commits_name, H5T_NATIVE_UINT64, rows_, {1, CommitRow::words}, words.data());
  ++rows_;
}

}  // namespace sluice::layout::hdf5
