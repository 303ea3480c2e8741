#pragma once

#include "layout/format.hpp"

namespace sluice::layout::dcd {

extern const Format format_row;

}  // namespace sluice::layout::dcd
