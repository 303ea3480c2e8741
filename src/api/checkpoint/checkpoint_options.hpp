// Which options of a checkpoint go together.
#pragma once

#include <string>

#include "sluice/checkpoint.hpp"

namespace sluice::detail {

/// Local. Error invalid_argument where they do not.
void check_options(const std::string& path, const CheckpointOptions& options);

}  // namespace sluice::detail
