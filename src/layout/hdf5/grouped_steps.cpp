#include "layout/hdf5/grouped_steps.hpp"

#include <cmath>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

void GroupedSteps::write_root() {
  if (file_.profile() == Profile::openpmd) {
    openpmd_.write_root();
  }
}

std::string GroupedSteps::group(std::uint64_t step) const {
  return file_.profile() == Profile::openpmd ? openpmd_.group(step) : step_group(step);
}

void GroupedSteps::make_prototype(std::uint32_t variable, const model::Dims& tile) {
  variables_.note_made(variable, tile);
  const model::Definition& definition = variables_.definition(variable);
  const std::string path = prototype_path(definition.name);
  file_.make_groups_above(path);
  // Attributes of what was no variable yet have made a group.
  const bool had_attributes =
      is_openpmd_part(file_.profile(), definition.name) && has_link(file_.id(), path);
  if (had_attributes) {
    check(H5Ldelete(file_.id(), path.c_str(), H5P_DEFAULT), path);
  }
  const Handle list = creation_list(file_.profile(), definition);
  const Handle type = type_in_file(file_.profile(), definition.type);
  const Handle space = dataspace(definition.shape);
  check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_LATE), path);
  const Handle dataset = create_dataset(file_.id(), path, type.get(), space.get(), list.get());
  mark(file_.profile(), dataset.get(), definition);
  if (had_attributes) {
    for (const model::Attribute& attribute : attributes_.inherited_of(definition.name)) {
      write_attribute_of(file_.profile(), dataset.get(), attribute.name, attribute.value);
    }
  }
}

std::uint64_t GroupedSteps::make_group(std::uint64_t step, double time) {
  if (file_.profile() == Profile::openpmd) {
    const std::uint64_t number = openpmd_.number(step);
    openpmd_.make_group(time);
    return number;
  }
  const std::string path = step_group(step);
  file_.make_group(path);
  if (!std::isnan(time)) {
    const Handle group = own(H5Gopen2(file_.id(), path.c_str(), H5P_DEFAULT), path);
    write_attribute(group.get(), time_name, time);
    if (!variables_.has(time_name)) {
      for (const model::Attribute& attribute : attributes_.inherited_of(time_name)) {
        write_attribute(group.get(), std::string(time_prefix) + attribute.name, attribute.value);
      }
    }
  }
  return 0;
}

Placement GroupedSteps::place(const Touched& touched, std::uint64_t step) {
  model::Definition definition = variables_.definition(touched.variable);
  if (!touched.shape.empty()) {
    definition.shape = touched.shape;
  }
  const std::string path = group(step) + "/" + definition.name;
  file_.make_groups_above(path);
  const Handle list = creation_list(file_.profile(), definition);
  const Handle type = type_in_file(file_.profile(), definition.type);
  const Handle space = dataspace(definition.shape);
  check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY), path);
  check(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER), path);
  const Handle dataset = create_dataset(file_.id(), path, type.get(), space.get(), list.get());
  definition.varying = false;  // the number of rows is that of the dataset itself
  mark(file_.profile(), dataset.get(), definition);
  if (!is_openpmd_part(file_.profile(), definition.name)) {
    for (const model::Attribute& attribute : attributes_.inherited_of(definition.name)) {
      write_attribute(dataset.get(), attribute.name, attribute.value);
    }
  }
  std::vector<std::uint64_t> addresses;
  if (definition.bytes_per_step() != 0) {
    addresses.push_back(file_.place_contiguous(dataset.get(), definition));
    if (addresses[0] < file_.frontier()) {
      throw Error(Code::internal, path + ": placed below the committed end of the file");
    }
  }
  return {touched.variable, definition.type.bytes, definition.shape, definition.shape, addresses};
}

void GroupedSteps::finish(const CommitRequest& request) {
  if (file_.profile() == Profile::openpmd) {
    openpmd_.write_attributes(request);
  }
}

void GroupedSteps::drop(std::uint64_t first, std::uint64_t steps) {
  for (std::uint64_t step = first; step < steps; ++step) {
    const std::string path = group(step);
    check(H5Ldelete(file_.id(), path.c_str(), H5P_DEFAULT), path);
  }
  keep_below(first);
}

}  // namespace sluice::layout::hdf5
