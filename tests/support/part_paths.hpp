// The paths of the parts of a set, from its index.
#pragma once

#include <string>
#include <vector>

#include "layout/hdf5/part_identity.hpp"
#include "storage/storage.hpp"

namespace sluice::test {

/// As the storage opens them, in the order of the index; none if `index_path` is not an index.
inline std::vector<std::string> part_paths(storage::Storage& storage,
                                           const std::string& index_path) {
  std::vector<std::string> paths;
  const auto file = storage.open(index_path, storage::Access::read);
  if (const auto set = layout::hdf5::read_set(*file)) {
    for (const layout::Part& part : set->parts) {
      paths.push_back(layout::part_path(index_path, part.path));
    }
  }
  return paths;
}

}  // namespace sluice::test
