#include "stored.hpp"

#include "layout/formats.hpp"

namespace sluice::cli {

Stored open_stored(storage::Storage& storage, const std::string& path) {
  Stored stored;
  stored.file = storage.open(path, storage::Access::read);
  stored.catalog = layout::open_catalog(layout::format_in(*stored.file, "auto"), *stored.file);
  return stored;
}

}  // namespace sluice::cli
