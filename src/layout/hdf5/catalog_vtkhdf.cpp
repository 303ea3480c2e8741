// Arrays whose steps follow one another in one dataset.
#include <algorithm>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/vtkhdf/rules.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

namespace {

/// Of a step: 128 MiB of numbers.
constexpr std::uint64_t most_parts = 16ULL << 20;

}  // namespace

bool Catalog::add_in_a_row(hid_t dataset, const std::string& name, const Type& type,
                           const Dims& extents, StoredVariable& variable) {
  if (profile_ != Profile::vtkhdf || extents.empty() ||
      !is_yes(H5Aexists(dataset, step_rows_attribute), name)) {
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

std::vector<std::uint64_t> Catalog::parts(std::uint32_t variable, std::uint64_t step) {
  const QuietErrors quiet;
  const std::string& name = variables_.at(variable).definition.name;
  const std::size_t slash = name.rfind('/');
  const std::string last = name.substr(slash + 1);
  const bool is_known =
      last == "Points" || last == "Types" || last == "Offsets" || last == "Connectivity";
  if (profile_ != Profile::vtkhdf || !vtkhdf::is_array(name) || !is_known ||
      name.find("Data/") != std::string::npos) {
    return {};
  }
  const std::string counts =
      name.substr(0, slash + 1) + (last == "Points"         ? "NumberOfPoints"
                                   : last == "Connectivity" ? "NumberOfConnectivityIds"
                                                            : "NumberOfCells");
  std::vector<std::uint64_t> rows;
  bool is_whole = true;
  if (steps_ == 0) {
    rows = numbers_of(counts, 0, most_parts + 1);
    is_whole = rows.size() <= most_parts;
  } else {
    const std::string steps = std::string(vtkhdf::steps_group) + "/";
    const std::vector<std::uint64_t> firsts = numbers_of(steps + "PartOffsets", step, 1);
    const std::vector<std::uint64_t> of_step = numbers_of(steps + "NumberOfParts", step, 1);
    const std::uint64_t count = of_step.empty() ? 0 : of_step[0];
    rows = numbers_of(counts, firsts.empty() ? absent : firsts[0], std::min(count, most_parts));
    is_whole = rows.size() == count;
  }
  if (!is_whole) {
    throw Error(Code::damaged, state_.file->path() + ": " + counts + ": step " +
                                   std::to_string(step) + " has parts that are not there");
  }
  if (last == "Offsets") {  // one more than there are cells
    std::for_each(rows.begin(), rows.end(), [](std::uint64_t& cells) { ++cells; });
  }
  return rows;
}

/// Elements [first, first + count) of a list that another program may have written, too; fewer
/// where it ends before, none where there is no such list. Nothing else is read: the parts of all
/// steps may be more than memory holds.
std::vector<std::uint64_t> Catalog::numbers_of(const std::string& path, std::uint64_t first,
                                               std::uint64_t count) {
  if (!has_link(hdf5_.get(), path)) {
    return {};
  }
  const Handle list = own(H5Dopen2(hdf5_.get(), path.c_str(), H5P_DEFAULT), path);
  const std::uint64_t length = dims_of(list.get(), 1, path)[0];
  std::vector<std::uint64_t> numbers(first < length ? std::min(count, length - first) : 0);
  if (numbers.empty()) {
    return numbers;
  }
  read_rows(list.get(), path, H5T_NATIVE_UINT64, first, {numbers.size()}, numbers.data());
  return numbers;
}

}  // namespace sluice::layout::hdf5
