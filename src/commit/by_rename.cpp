#include "commit/by_rename.hpp"

#include "sluice/error.hpp"

namespace sluice::commit {

std::string fresh_building_path(storage::Storage& storage, const std::string& path) {
  const std::string building = path + ".sluice-new";
  if (storage.exists(building)) {
    storage.remove(building);
  }
  return building;
}

void write_by_rename(storage::Storage& storage, const std::string& path,
                     const std::function<void(storage::File&)>& fill) {
  const std::string building = fresh_building_path(storage, path);
  try {
    const auto file = storage.open(building, storage::Access::create);
    fill(*file);
    storage.rename(building, path);
  } catch (...) {
    try {
      storage.remove(building);
    } catch (const Error&) {
      // the next attempt replaces it
    }
    throw;
  }
}

}  // namespace sluice::commit
