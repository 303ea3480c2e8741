#include "commit/by_rename.hpp"

#include "sluice/error.hpp"

namespace sluice::commit {

std::string building_path(const std::string& path) { return path + ".sluice-new"; }

std::string fresh_building_path(storage::Storage& storage, const std::string& path) {
  std::string building = building_path(path);
  if (storage.exists(building)) {
    storage.remove(building);
  }
  return building;
}

void forget_building(storage::Storage& storage, const std::string& path) noexcept {
  try {
    storage.remove(building_path(path));
  } catch (const Error&) {
    return;
  }
}

void write_by_rename(storage::Storage& storage, const std::string& path,
                     const std::function<void(storage::File&)>& fill) {
  const std::string building = fresh_building_path(storage, path);
  try {
    const auto file = storage.open(building, storage::Access::create);
    fill(*file);
    storage.rename(building, path);
  } catch (...) {
    forget_building(storage, path);
    throw;
  }
}

}  // namespace sluice::commit
