#include "storage/store_manifest.hpp"

#include <algorithm>

#include "model/name.hpp"
#include "sluice/error.hpp"
#include "storage/endings.hpp"

namespace sluice::storage {

std::string manifest_path(const std::string& path, const std::string& manifest) {
  return path + "/" + manifest;
}

std::string manifest_at(Storage& storage, const std::string& path, const Manifests& known,
                        const char* ending) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const std::string& name) {
    return storage.exists(manifest_path(path, name) + ending);
  });
  return found == known.end() ? "" : *found;
}

bool has_manifest(Storage& storage, const std::string& path, const Manifests& known) {
  return !manifest_at(storage, path, known).empty();
}

std::string object_path(const std::string& path, const std::string& name) {
  try {
    model::check_name(name);
  } catch (const Error& e) {
    throw Error(e.code(), path + ": an object of the store: " + e.what());
  }
  return path + "/" + name;
}

bool is_store(Storage& storage, const std::string& path, const Manifests& known) {
  return storage.may_have_names(path) && (has_manifest(storage, path, known) ||
                                          !manifest_at(storage, path, known, new_ending).empty());
}

bool is_put_aside(Storage& storage, const std::string& path, const Manifests& known) {
  if (storage.whole_files(path) != nullptr) {
    return false;
  }
  // Another file that gets the name meanwhile is not removed.
  return has_manifest(storage, path + old_ending, known) && !has_manifest(storage, path, known) &&
         (is_store(storage, path, known) || !storage.exists(path));
}

}  // namespace sluice::storage
