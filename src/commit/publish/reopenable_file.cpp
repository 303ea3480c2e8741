#include "commit/publish/reopenable_file.hpp"

#include "commit/publish/superblock.hpp"

namespace sluice::commit {

std::unique_ptr<ReopenableFile> lock_hdf5(storage::Storage& storage, const std::string& path) {
  if (!storage.exists(path) || layout::is_store(storage, path)) {
    return nullptr;
  }
  auto file = std::make_unique<ReopenableFile>(storage, path, storage::Access::read_write);
  if (!find_superblock(*file)) {
    return nullptr;
  }
  file->hold_lock();
  return file;
}

}  // namespace sluice::commit
