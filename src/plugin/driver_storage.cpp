#include "plugin/driver_storage.hpp"

#include "storage/posix_calls.hpp"

namespace sluice::plugin {

storage::Storage& driver_storage() {
  static auto* const files = new std::shared_ptr<storage::Storage>(
      storage::make_writeback(storage::real_system_calls(), storage::Cores::of_starter));
  return **files;
}

}  // namespace sluice::plugin
