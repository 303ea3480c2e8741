// The order of the nodes in consolidated metadata.
#pragma once

#include "layout/zarr/metadata.hpp"

namespace sluice::layout::zarr {

/// The nodes by depth, then by group, else as they were: zarr-python looks for the nodes of a group
/// one after the other.
Json by_group(Json nodes);

}  // namespace sluice::layout::zarr
