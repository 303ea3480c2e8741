// Icechunk: a Zarr hierarchy with a history, every commit of which is a snapshot.
#pragma once

#include "layout/format.hpp"

namespace sluice::layout::icechunk {

extern const Format format_row;

}  // namespace sluice::layout::icechunk
