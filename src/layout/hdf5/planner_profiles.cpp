// What the grouped form and netCDF-4 add: a group a step, and the scales of dimensions.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "layout/hdf5/planner.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

std::string step_group(std::uint64_t step) {
  std::string number = std::to_string(step);
  number.insert(0, 6 - std::min<std::size_t>(6, number.size()), '0');
  return step_group_prefix + number;
}

const char* Hdf5Planner::format() const { return profile_name(profile_); }

// -- grouped --------------------------------------------------------------------------------------

void Hdf5Planner::make_prototype(std::uint32_t variable) {
  const model::Definition& definition = definitions_[variable];
  const std::string path = prototype_path(definition.name);
  make_groups(path);
  const Handle list = creation_list(definition);
  const Handle type = type_in_file(profile_, definition.type);
  const Handle space = dataspace(definition.shape);
  check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_LATE), path);
  const Handle dataset = own(H5Dcreate2(hdf5_.get(), path.c_str(), type.get(), space.get(),
                                        H5P_DEFAULT, list.get(), H5P_DEFAULT),
                             path);
  mark(profile_, dataset.get(), definition);
}

void Hdf5Planner::make_step_group(std::uint64_t step, double time) {
  const std::string path = step_group(step);
  make_groups(path + "/x");
  if (!std::isnan(time)) {
    const Handle group = own(H5Gopen2(hdf5_.get(), path.c_str(), H5P_DEFAULT), path);
    write_attribute(group.get(), time_name, time);
  }
}

Placement Hdf5Planner::place_group(const Touched& touched, std::uint64_t step) {
  model::Definition definition = definitions_[touched.variable];
  if (!touched.shape.empty()) {
    definition.shape = touched.shape;
  }
  const std::string path = step_group(step) + "/" + definition.name;
  make_groups(path);
  const Handle list = creation_list(definition);
  const Handle type = type_in_file(profile_, definition.type);
  const Handle space = dataspace(definition.shape);
  check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY), path);
  check(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER), path);
  const Handle dataset = own(H5Dcreate2(hdf5_.get(), path.c_str(), type.get(), space.get(),
                                        H5P_DEFAULT, list.get(), H5P_DEFAULT),
                             path);
  definition.varying = false;  // the dataset says itself how many rows it has
  mark(profile_, dataset.get(), definition);
  for (const model::Attribute& attribute : inherited_) {
    if (attribute.owner == definition.name) {
      write_attribute(dataset.get(), attribute.name, attribute.value);
    }
  }
  std::vector<std::uint64_t> addresses;
  if (definition.bytes_per_step() != 0) {
    addresses.push_back(place_contiguous(dataset.get(), definition));
    if (addresses[0] < state_.frontier) {
      throw Error(Code::internal, path + ": placed below the committed end of the file");
    }
  }
  return {touched.variable, definition.type.bytes, definition.shape, definition.shape, addresses};
}

// -- netCDF-4 -------------------------------------------------------------------------------------

void Hdf5Planner::make_scale(const netcdf4::Use& use) {
  if (scales_.has(use.name)) {
    return;
  }
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    const model::Definition& definition = definitions_[v];
    if (definition.name == use.name && netcdf4::is_coordinate(definition)) {
      const bool places_now = false;  // its values come with another commit, or later in this one
      make(v, definition.stepped ? Dims{} : definition.shape, places_now);
      return;
    }
  }
  if (use.unlimited) {
    make_time();
  } else {
    scales_.make_plain(hdf5_.get(), use.name, use);
  }
}

void Hdf5Planner::attach_dimensions(std::uint32_t variable) {
  const model::Definition& definition = definitions_[variable];
  if (netcdf4::is_coordinate(definition)) {
    scales_.make_coordinate(dataset(variable), definition.name);
    return;
  }
  std::vector<std::string> names;
  for (const netcdf4::Use& use : netcdf4::uses_of(definition)) {
    make_scale(use);
    names.push_back(use.name);
  }
  scales_.attach(hdf5_.get(), dataset(variable), definition.name, names);
}

}  // namespace sluice::layout::hdf5
