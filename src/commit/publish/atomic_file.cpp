#include "commit/publish/atomic_file.hpp"

#include "commit/publish/journal.hpp"
#include "storage/endings.hpp"

namespace sluice::commit {

Error taken_error(const std::string& path, bool is_replaceable) {
  return {Code::exists, path + ": exists already: choose another name, or " +
                            (is_replaceable ? std::string("mode write (\"w\"), which replaces it")
                                            : "remove it (aws s3 rm --recursive " + path + ")")};
}

Error in_doubt(const Error& e) {
  return {e.code(),
          std::string(e.what()) +
              ": whether this commit is in the file is known only after reopening it",
          e.rank()};
}

std::string building_path(const std::string& path) { return path + storage::new_ending; }

std::string fresh_building_path(storage::Storage& storage, const std::string& path) {
  std::string building = building_path(path);
  if (storage.exists(building)) {
    storage.remove(building);
  }
  return building;
}

Error naming(const Error& error, const std::string& building, const std::string& name) {
  std::string text = error.what();
  const std::size_t at = text.find(building);
  return at == std::string::npos
             ? error
             : Error(error.code(), text.replace(at, building.size(), name), error.rank());
}

void forget_building(storage::Storage& storage, const std::string& path) noexcept {
  try {
    storage.remove(building_path(path));
  } catch (const Error&) {
    return;
  }
}

namespace {

void rename_as(storage::Storage& storage, const std::string& from, const std::string& to,
               Naming naming) {
  if (naming == Naming::refuse) {
    storage.rename_new(from, to);
  } else {
    storage.rename(from, to);
  }
}

/// Before anything of a file that appeared there is touched, such as its journal.
void require_free(storage::Storage& storage, const std::string& path, Naming naming) {
  if (naming == Naming::refuse && storage.exists(path)) {
    throw Error(Code::exists, path + ": was made by another program meanwhile");
  }
}

}  // namespace

bool take_name(storage::Storage& storage, const std::string& building, const std::string& path,
               bool synced, Naming naming) {
  require_free(storage, path, naming);
  const bool has_journal = storage.exists(journal_path(path));
  if (has_journal) {
    storage.remove(journal_path(path));
  }
  const bool is_replacing = storage.exists(path);
  if (synced && (has_journal || is_replacing)) {
    // Also one that an earlier run removed must not come back. A name that was free has none: the
    // sync after the rename is enough.
    storage.sync_directory(path);
  }
  rename_as(storage, building, path, naming);
  return is_replacing;
}

bool take_name_back(storage::Storage& storage, const std::string& building, const std::string& path,
                    std::string& present) noexcept {
  try {
    storage.rename(path, building);
    present = building;
    storage.sync_directory(path);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void write_atomically(storage::Storage& storage, const std::string& path,
                      const std::function<void(storage::File&)>& fill, Naming naming) {
  const std::string real = storage.real_path(path);
  require_free(storage, real, naming);
  const std::string building = fresh_building_path(storage, real);
  try {
    const auto file = storage.create_like(building, real);
    fill(*file);
    rename_as(storage, building, real, naming);
  } catch (...) {
    forget_building(storage, real);
    throw;
  }
}

}  // namespace sluice::commit
