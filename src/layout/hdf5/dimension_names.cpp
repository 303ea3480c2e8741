#include "layout/hdf5/dimension_names.hpp"

#include <algorithm>
#include <cstddef>

#include "model/name.hpp"

namespace sluice::layout::hdf5 {

/// Of a scale with several dimensions; none of any other dataset.
std::vector<std::string> DimensionNames::by_number(hid_t dataset) {
  const std::vector<std::int32_t> numbers = dimension_numbers(dataset);
  if (!numbers.empty() && !numbered_scales_) {
    numbered_scales_ = numbered_scales(file_.hdf5);
  }
  std::vector<std::string> names;
  for (const std::int32_t number : numbers) {
    const auto scale = numbered_scales_->find(number);
    names.push_back(scale == numbered_scales_->end() ? "" : scale->second);
  }
  return names;
}

std::vector<std::string> DimensionNames::scales_of(hid_t dataset, const std::string& name,
                                                   int rank) {
  std::vector<std::string> scales = rank > 1 ? by_number(dataset) : std::vector<std::string>{};
  return scales.empty() ? dimension_names(scales_, dataset, name) : scales;
}

std::vector<std::string> DimensionNames::of(hid_t dataset, const std::string& name, int rank,
                                            bool has_characters) {
  std::vector<std::string> names = dimension_labels(dataset);
  if (names.empty()) {
    names = scales_of(dataset, name, rank);
  }
  const auto count = static_cast<std::ptrdiff_t>(names.size()) - rank;
  if (count > 0 && has_characters) {
    names.pop_back();
  }
  if (count > (has_characters ? 1 : 0)) {
    names.erase(names.begin());  // that of the steps
  }
  if (names.size() != static_cast<std::size_t>(rank)) {
    names.clear();
  }
  for (std::string& dimension : names) {
    // Of a scale in a group.
    dimension.erase(0, file_.log.is_there ? 0 : dimension.rfind('/') + 1);
  }
  const bool are_names = std::all_of(names.begin(), names.end(), model::is_name);
  return are_names ? names : std::vector<std::string>{};
}

}  // namespace sluice::layout::hdf5
