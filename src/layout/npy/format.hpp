#pragma once

#include "layout/format.hpp"

namespace sluice::layout::npy {

extern const Format format_row;

}  // namespace sluice::layout::npy
