#include "layout/stores.hpp"

#include "layout/formats.hpp"

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

}  // namespace

bool is_store(storage::Storage& storage, const std::string& path) {
  return storage::is_store(storage, path, manifests());
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
  return storage::open_data(storage, path, manifests(), access);
}

}  // namespace sluice::layout
