// The verb stats: see verb.hpp.
#pragma once

#include "verb.hpp"

namespace sluice::cli {

void add_stats(CLI::App& app, Run& run);

}  // namespace sluice::cli
