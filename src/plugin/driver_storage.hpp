// Where the driver's files lie. A test's driver has another one in its place.
#pragma once

#include "storage/storage.hpp"

namespace sluice::plugin {

/// The same for the whole process, also while it ends.
storage::Storage& driver_storage();

}  // namespace sluice::plugin
