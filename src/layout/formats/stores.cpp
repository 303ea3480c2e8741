#include "layout/formats/stores.hpp"

#include <algorithm>
#include <sstream>

#include "layout/formats/formats.hpp"
#include "sluice/error.hpp"
#include "storage/store_begin.hpp"
#include "storage/store_version.hpp"

namespace sluice::layout {

namespace {

storage::Manifests manifests() {
  storage::Manifests all;
  for (const Format* format : formats()) {
    if (format->is_store()) {
      all.emplace_back(format->manifest);
    }
  }
  return all;
}

/// Those of versions that can only be read.
storage::Manifests read_manifests() {
  storage::Manifests all;
  for (const Format* format : formats()) {
    std::istringstream names(format->read_manifests);
    for (std::string name; names >> name;) {
      all.push_back(name);
    }
  }
  return all;
}

/// Does a file of this name describe data in files beside it?
bool names_others(const std::string& path) {
  const std::string ending = ending_of(path);
  const auto all = formats();
  return !ending.empty() && std::any_of(all.begin(), all.end(), [&](const Format* format) {
    return ending == format->references;
  });
}

}  // namespace

namespace {

/// `store@name`: the version of a store that is to be read; nothing where the path is none. Among
/// the manifests that can only be read, those of versions have a `*` for the version's name.
std::unique_ptr<storage::File> open_version(storage::Storage& storage, const std::string& path,
                                            const storage::Manifests& known) {
  const std::size_t at = path.rfind('@');
  if (at == std::string::npos || path.find('/', at) != std::string::npos || storage.exists(path) ||
      !storage::is_store(storage, path.substr(0, at), known)) {
    return nullptr;
  }
  const std::string store = path.substr(0, at);
  for (std::string name : read_manifests()) {
    const std::size_t star = name.find('*');
    if (star != std::string::npos &&
        storage.exists(storage::object_path(store, name.replace(star, 1, path.substr(at + 1))))) {
      return storage::open_manifest(storage, store, name, path);
    }
  }
  throw Error(Code::not_found,
              path + ": " + store + " has no tag, branch or snapshot of that name");
}

}  // namespace

bool is_store(storage::Storage& storage, const std::string& path) {
  return storage::is_store(storage, path, manifests()) ||
         storage::is_store(storage, path, read_manifests());
}

void begin_store(storage::Storage& storage, const std::string& path, const Format& format,
                 bool synced) {
  storage::begin_store(storage, path, format.manifest, manifests(), synced);
}

bool is_put_aside(storage::Storage& storage, const std::string& path) {
  return storage::is_put_aside(storage, path, manifests());
}

void restore_store(storage::Storage& storage, const std::string& path) {
  storage::restore_store(storage, path, manifests());
}

void give_up_store(storage::Storage& storage, const std::string& path) {
  storage::give_up_store(storage, path, manifests());
}

std::unique_ptr<storage::File> open_data(storage::Storage& storage, const std::string& path,
                                         storage::Access access) {
  const storage::Manifests known = manifests();
  const storage::Manifests old = read_manifests();
  if (access == storage::Access::read) {
    if (auto version = open_version(storage, path, known)) {
      return version;
    }
  }
  if (access == storage::Access::read && names_others(path) &&
      !storage::is_store(storage, path, known) && !storage::is_store(storage, path, old)) {
    return storage::open_with_neighbours(storage, path);
  }
  if (access == storage::Access::create || storage::is_store(storage, path, known) ||
      !storage::is_store(storage, path, old)) {
    return storage::open_data(storage, path, known, access);
  }
  if (access != storage::Access::read) {
    throw Error(Code::unsupported,
                path +
                    ": a store of an older version, which can only be read: make a new one with "
                    "`sluice convert`");
  }
  return storage::open_data(storage, path, old, access);
}

}  // namespace sluice::layout
