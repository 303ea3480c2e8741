#include "plugin/driver_storage.hpp"

namespace sluice::plugin {

storage::Storage& driver_storage() {
  static auto* const files = new std::shared_ptr<storage::Storage>(storage::make_writeback());
  return **files;
}

}  // namespace sluice::plugin
