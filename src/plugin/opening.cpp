#include "plugin/opening.hpp"

#include <utility>

#include "commit/publish/in_place.hpp"
#include "storage/file_lock.hpp"
#include "storage/named_file.hpp"

namespace sluice::plugin {

void share_lock(storage::File& file, const Settings& settings) {
  storage::require_share_lock(file, settings.locks);
}

std::unique_ptr<storage::File> open_empty(storage::Storage& storage, const std::string& path,
                                          const Settings& settings) {
  if (!storage.exists(path) || storage.exists(commit::journal_path(path))) {
    return nullptr;
  }
  auto file = storage.open(path, storage::Access::read_write);
  share_lock(*file, settings);
  return file->size() == 0 ? std::move(file) : nullptr;
}

Error is_there_already(const std::string& path) {
  return {Code::exists, path +
                            ": is there already, and may not be replaced (after h5py's mode \"a\": "
                            "it could not be opened, and mode \"r+\" says why)"};
}

void require_replaceable(storage::Storage& storage, const std::string& path,
                         const Settings& settings, bool exclusive) {
  if (!storage.exists(path)) {
    return;
  }
  if (exclusive) {
    throw is_there_already(path);
  }
  share_lock(*storage.open(path, storage::Access::read_write), settings);
}

std::unique_ptr<storage::File> recover_changed(storage::Storage& storage, const std::string& path,
                                               const Settings& settings,
                                               std::unique_ptr<storage::File> there) {
  if (!storage::is_at(storage, path, there->identity())) {
    there = storage.open(path, storage::Access::read_write);
    share_lock(*there, settings);
  }
  if (storage.exists(commit::journal_path(path))) {
    commit::carry_out_journal(storage, path, false);
    commit::remove_journal(storage, path);
  } else if (commit::is_guarded(*there)) {
    commit::throw_lost(path);
  }
  return there;
}

void recover_replaced(storage::Storage& storage, const std::string& path) {
  try {
    if (storage.exists(commit::journal_path(path))) {
      commit::carry_out_journal(storage, path, false);
      commit::remove_journal(storage, path);
    }
  } catch (const Error&) {
    // one that cannot be recovered may be replaced all the same
  }
}

}  // namespace sluice::plugin
