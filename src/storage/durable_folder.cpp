#include "storage/durable_folder.hpp"

#include "storage/calls.hpp"

namespace sluice::storage {

bool make_durable_folder(Storage& storage, const std::string& path) {
  const bool is_new = !storage.exists(path);
  storage.make_folder(path);
  if (is_new) {
    storage.sync_directory(folder_of(path + "/."));  // without a slash at the end
  }
  return is_new;
}

}  // namespace sluice::storage
