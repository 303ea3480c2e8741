#include "cli/stored.hpp"

namespace sluice::cli {

Stored open_stored(storage::Storage& storage, const std::string& path) {
  Stored stored;
  stored.file = storage.open(path, storage::Access::read);
  stored.catalog = Catalog::open(*stored.file);
  return stored;
}

}  // namespace sluice::cli
