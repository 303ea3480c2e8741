#include "stored.hpp"

#include <filesystem>

#include "layout/formats.hpp"
#include "storage/store.hpp"

namespace sluice::cli {

Stored open_stored(storage::Storage& storage, const std::string& path) {
  Stored stored;
  stored.file = storage::open_data(storage, path, storage::Access::read);
  stored.catalog = layout::open_catalog(layout::format_in(*stored.file, "auto"), *stored.file);
  return stored;
}

std::uint64_t bytes_on_disk(storage::Storage& storage, const std::string& path) {
  if (!storage::is_store(storage, path)) {
    return storage.open(path, storage::Access::read)->size();
  }
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    bytes += entry.is_regular_file() ? entry.file_size() : 0;
  }
  return bytes;
}

}  // namespace sluice::cli
