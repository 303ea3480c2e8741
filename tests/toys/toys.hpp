// A format and a strategy that the library does not know: what is needed to add one.
#pragma once

#include "layout/format.hpp"
#include "plan/plan.hpp"

namespace sluice::toys {

extern const layout::Format toy_format;
extern const plan::Strategy toy_strategy;

}  // namespace sluice::toys
