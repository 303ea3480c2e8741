#pragma once

#include "layout/format.hpp"

namespace sluice::layout::zarr {

extern const Format format_row;

}  // namespace sluice::layout::zarr
