#pragma once

#include "layout/format.hpp"

namespace sluice::layout::records {

extern const Format format_row;

}  // namespace sluice::layout::records
