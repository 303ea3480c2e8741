// Arrays whose steps follow one another in one dataset.
#include <algorithm>

#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

bool Catalog::add_in_a_row(hid_t dataset, const std::string& name, const Type& type,
                           const Dims& extents, StoredVariable& variable) {
  if (!vtkhdf_ || extents.empty() || !is_yes(H5Aexists(dataset, step_rows_attribute), name)) {
    return false;
  }
  const auto held = read_attribute(dataset, step_rows_attribute);
  const auto* rows = held ? std::get_if<std::vector<std::int64_t>>(&*held) : nullptr;
  const bool is_possible = rows != nullptr && rows->size() == 2 && (*rows)[1] >= 0 &&
                           (*rows)[0] >= (*rows)[1] && (*rows)[0] > 0;
  const std::uint64_t slot = is_possible ? static_cast<std::uint64_t>((*rows)[0]) : 0;
  std::uint64_t all = 0;
  if (!is_possible || __builtin_mul_overflow(slot, std::max<std::uint64_t>(1, steps_), &all)) {
    throw Error(Code::damaged, state_.file->path() + ": " + name + ": its attribute " +
                                   step_rows_attribute + " says impossible rows of a step");
  }
  Dims shape = extents;
  shape[0] = static_cast<std::uint64_t>((*rows)[1]);
  variable.definition = describe(dataset, name, type, shape);
  variable.definition.stepped = true;
  slots_[static_cast<std::uint32_t>(variables_.size())] = slot;
  return true;
}

bool Catalog::has_whole_chunks(const Dims& chunk) const {
  return slot(static_cast<std::uint32_t>(variables_.size())) % chunk[0] == 0;
}

std::uint64_t Catalog::slot(std::uint32_t variable) const {
  const auto found = slots_.find(variable);
  return found != slots_.end() ? found->second : 0;
}

std::size_t Catalog::lead(std::uint32_t variable) const {
  return variables_[variable].definition.stepped && !is_grouped(variable) && slot(variable) == 0
             ? 1
             : 0;
}

std::uint64_t Catalog::first_row(std::uint32_t variable, std::uint64_t step) const {
  return lead(variable) != 0 ? step : step * slot(variable);
}

}  // namespace sluice::layout::hdf5
