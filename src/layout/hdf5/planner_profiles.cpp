// The extra objects of the forms of a file: one group a step (grouped), and dimension scales.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/planner.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

std::string step_group(std::uint64_t step) {
  std::string number = std::to_string(step);
  number.insert(0, 6 - std::min<std::size_t>(6, number.size()), '0');
  return step_group_prefix + number;
}

std::string Hdf5Planner::group_of(std::uint64_t step) const {
  return profile_ == Profile::openpmd ? openpmd::group_of(numbers_.at(step)) : step_group(step);
}

const char* Hdf5Planner::format() const { return profile_name(profile_); }

// -- grouped --------------------------------------------------------------------------------------

void Hdf5Planner::make_prototype(std::uint32_t variable) {
  const model::Definition& definition = definitions_[variable];
  const std::string path = prototype_path(definition.name);
  make_groups(path);
  // Attributes of what was no variable yet have made a group.
  const bool had_attributes = is_openpmd_part(definition.name) && has_link(hdf5_.get(), path);
  if (had_attributes) {
    check(H5Ldelete(hdf5_.get(), path.c_str(), H5P_DEFAULT), path);
  }
  const Handle list = creation_list(definition);
  const Handle type = type_in_file(profile_, definition.type);
  const Handle space = dataspace(definition.shape);
  check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_LATE), path);
  const Handle dataset = create_dataset(hdf5_.get(), path, type.get(), space.get(), list.get());
  mark(profile_, dataset.get(), definition);
  for (const model::Attribute& attribute : inherited_) {
    if (had_attributes && attribute.owner == definition.name) {
      write_attribute_of(profile_, dataset.get(), attribute.name, attribute.value);
    }
  }
}

void Hdf5Planner::make_step_group(std::uint64_t step, double time) {
  if (profile_ == Profile::openpmd) {
    make_iteration(time);
    return;
  }
  const std::string path = step_group(step);
  make_groups(path + "/x");
  if (!std::isnan(time)) {
    const Handle group = own(H5Gopen2(hdf5_.get(), path.c_str(), H5P_DEFAULT), path);
    write_attribute(group.get(), time_name, time);
    for (const model::Attribute& attribute : inherited_) {
      if (attribute.owner == time_name && !is_variable(time_name)) {
        write_attribute(group.get(), std::string(time_prefix) + attribute.name, attribute.value);
      }
    }
  }
}

Placement Hdf5Planner::place_group(const Touched& touched, std::uint64_t step) {
  model::Definition definition = definitions_[touched.variable];
  if (!touched.shape.empty()) {
    definition.shape = touched.shape;
  }
  const std::string path = group_of(step) + "/" + definition.name;
  make_groups(path);
  const Handle list = creation_list(definition);
  const Handle type = type_in_file(profile_, definition.type);
  const Handle space = dataspace(definition.shape);
  check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY), path);
  check(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER), path);
  const Handle dataset = create_dataset(hdf5_.get(), path, type.get(), space.get(), list.get());
  definition.varying = false;  // the number of rows is that of the dataset itself
  mark(profile_, dataset.get(), definition);
  for (const model::Attribute& attribute : inherited_) {
    if (attribute.owner == definition.name && !is_openpmd_part(attribute.owner)) {
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

// -- dimension scales: always in netCDF-4; in a stacked file if the caller names dimensions
// ---

void Hdf5Planner::make_scale(const netcdf4::Use& use) {
  if (const netcdf4::Use* known = scales_.find(use.name)) {
    if (known->unlimited != use.unlimited) {
      throw Error(Code::bad_name, file_.path() + ": dimension " + use.name +
                                      " is that of the steps: give the fixed one another name");
    }
    return;
  }
  if (use.unlimited && has_time_) {
    const Handle time = own(H5Dopen2(hdf5_.get(), time_name, H5P_DEFAULT), time_name);
    scales_.make_coordinate(time.get(), time_name);  // created before any dimension had a name
    return;
  }
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    const model::Definition& definition = definitions_[v];
    if (definition.name == use.name && is_coordinate(profile_, definition)) {
      const bool places_now = false;  // its values come with another commit, or later in this one
      make(v, definition.stepped ? Dims{} : definition.shape, places_now);
      return;
    }
  }
  if (use.unlimited && profile_ == Profile::netcdf4) {
    make_time();
  } else {
    scales_.make_plain(hdf5_.get(), use.name, use);
  }
}

bool Hdf5Planner::names_dimensions() const {
  return has_optional_scales(profile_) &&
         std::any_of(definitions_.begin(), definitions_.end(),
                     [](const model::Definition& d) { return !d.dimensions.empty(); });
}

bool Hdf5Planner::has_scales(const model::Definition& definition,
                             const std::vector<netcdf4::Use>& uses) const {
  if (profile_ == Profile::netcdf4) {
    return true;
  }
  if (uses.empty() || (definition.dimensions.empty() && !names_dimensions())) {
    return false;  // variables with steps and no other dimension use the names of the others
  }
  return std::all_of(uses.begin(), uses.end(), [&](const netcdf4::Use& use) {
    if (const netcdf4::Use* scale = scales_.find(use.name)) {
      return *scale == use;
    }
    return (use.unlimited && has_time_) || may_have_scale(profile_, use, definitions_);
  });
}

void Hdf5Planner::attach_dimensions(std::uint32_t variable) {
  const model::Definition& definition = definitions_[variable];
  if (is_coordinate(profile_, definition)) {
    scales_.make_coordinate(dataset(variable), definition.name);
    return;
  }
  const std::vector<netcdf4::Use> uses = uses_of(profile_, definition);
  if (!has_scales(definition, uses)) {
    return;
  }
  std::vector<std::string> names;
  for (const netcdf4::Use& use : uses) {
    make_scale(use);
    names.push_back(use.name);
  }
  scales_.attach(hdf5_.get(), dataset(variable), definition.name, names);
}

void Hdf5Planner::replace_scale(const std::string& name,
                                const std::function<void()>& make_dataset) {
  const bool is_taken = profile_ == Profile::stacked && scales_.has_plain(name);
  if (is_taken) {
    scales_.remove(hdf5_.get(), name);
  }
  make_dataset();
  for (std::uint32_t v = 0; v < definitions_.size() && is_taken; ++v) {
    const model::Definition& definition = definitions_[v];
    if (made_[v].exists && !scales_.has(definition.name) &&
        !netcdf4::is_attached(dataset(v), definition.name)) {
      attach_dimensions(v);
    }
  }
}

}  // namespace sluice::layout::hdf5
