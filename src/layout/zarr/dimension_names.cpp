#include "layout/zarr/dimension_names.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "layout/netcdf4/rules.hpp"
#include "model/name.hpp"

namespace sluice::layout::zarr {

namespace {

using netcdf4::Use;
/// Of one group, by name: xarray opens one group at a time.
using Taken = std::unordered_map<std::string, Use>;

/// Of the name of a value without dimensions, which xarray has for no dimension.
constexpr std::uint64_t no_size = std::numeric_limits<std::uint64_t>::max();

/// May one array have all of them?
bool are_free(const std::vector<Use>& uses, const Taken& taken) {
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    const auto found = taken.find(use.name);
    return (found == taken.end() || found->second == use) &&
           std::all_of(uses.begin(), uses.end(),
                       [&](const Use& other) { return other.name != use.name || other == use; });
  });
}

}  // namespace

void rename_conflicting(Manifest& manifest) {
  std::unordered_map<std::string, Taken> groups;
  const Use step{netcdf4::step_dimension, 0, true};
  if (manifest.has_time) {
    groups[""].emplace(step.name, step);
  }
  for (const Stored& stored : manifest.arrays) {
    const std::string& name = stored.definition.name;
    Taken& taken = groups[model::group_of(name)];
    if (stored.definition.stepped) {
      taken.emplace(step.name, step);
    } else if (stored.definition.shape.empty()) {
      const std::string last = name.substr(name.rfind('/') + 1);
      taken.emplace(last, Use{last, no_size, false});
    }
  }
  for (Stored& stored : manifest.arrays) {
    Taken& taken = groups[model::group_of(stored.definition.name)];
    std::vector<Use> uses = netcdf4::uses_of(stored.definition);
    if (!stored.definition.dimensions.empty() && !are_free(uses, taken)) {
      model::Definition nameless = stored.definition;
      nameless.dimensions.clear();
      uses = netcdf4::uses_of(nameless);
      stored.array.dimensions.clear();
      for (const Use& use : uses) {
        stored.array.dimensions.push_back(use.name);
      }
    }
    for (const Use& use : uses) {
      taken.emplace(use.name, use);
    }
  }
}

}  // namespace sluice::layout::zarr
