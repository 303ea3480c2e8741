#pragma once

#include "layout/format.hpp"

namespace sluice::layout::namdbin {

extern const Format format_row;

}  // namespace sluice::layout::namdbin
