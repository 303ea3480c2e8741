#include "layout/hdf5/step_datasets.hpp"

#include <string>

#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

bool StepDatasets::is_grouped(std::uint32_t variable) const {
  return hdf5::is_grouped(file_.log.profile) && variables_[variable].definition.stepped;
}

std::size_t StepDatasets::lead(std::uint32_t variable) const {
  const bool is_stacked = variables_[variable].definition.stepped && !is_grouped(variable) &&
                          arrangements_[variable].slot == 0;
  return is_stacked ? 1 : 0;
}

std::uint64_t StepDatasets::first_row(std::uint32_t variable, std::uint64_t step) const {
  return lead(variable) != 0 ? step : step * arrangements_[variable].slot;
}

bool StepDatasets::ends_before(hid_t dataset, std::uint32_t variable, std::uint64_t step) const {
  const model::Definition& definition = variables_[variable].definition;
  return definition.stepped && !is_grouped(variable) &&
         first_row(variable, step) >= dims_of(dataset, definition.name)[0];
}

model::Dims StepDatasets::shape_of(hid_t dataset, std::uint32_t variable,
                                   std::uint64_t step) const {
  const StoredVariable& stored = variables_[variable];
  const model::Definition& definition = stored.definition;
  const std::string what = definition.name + ", step " + std::to_string(step) + ": has ";
  const model::Dims shape = dims_of(dataset, definition.name);
  if (shape.rank() != definition.shape.rank()) {
    throw Error(Code::damaged, what + "another number of dimensions than the other steps");
  }
  for (int d = definition.varying ? 1 : 0; d < shape.rank(); ++d) {
    if (shape[d] != definition.shape[d]) {
      throw Error(Code::damaged, what + "shape " + shape.text() + ", the other steps have " +
                                     definition.shape.text());
    }
  }
  const Handle type = own(H5Dget_type(dataset), definition.name);
  const auto held = stored_type(type.get());
  if (!held || held->type != definition.type || held->big_endian != stored.big_endian) {
    throw Error(Code::damaged, what + "another type than the other steps");
  }
  return shape;
}

hid_t StepDatasets::find(std::uint32_t variable, std::uint64_t step) {
  Open& open = open_[variable];
  const bool moves = is_grouped(variable);
  if (open.handle && (!moves || open.step == step)) {
    return open.handle.get();
  }
  const StoredVariable& stored = variables_[variable];
  std::string path = stored.definition.name;
  open.handle.reset();
  if (moves) {
    path = file_.log.group_of(step) + "/" + stored.definition.name;
    if (!has_link(file_.hdf5, path)) {
      return -1;
    }
  }
  open.step = step;
  // Another program made a virtual dataset that is no variable of a set.
  const bool is_of_others = stored.storage == "virtual" && !arrangements_[variable].is_mapped;
  const hid_t file = is_of_others ? others_.with_others() : file_.hdf5;
  open.handle = own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), path);
  return open.handle.get();
}

}  // namespace sluice::layout::hdf5
