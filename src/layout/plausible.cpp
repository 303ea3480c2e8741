#include "layout/plausible.hpp"

#include "sluice/error.hpp"

namespace sluice::layout {

void require_plausible_tiles(const std::string& what, std::uint64_t count, std::uint64_t most) {
  if (count > most) {
    throw Error(Code::over_budget, what + " of " + std::to_string(count) + " chunks; at most " +
                                       std::to_string(most) +
                                       " can be read: rewrite it with larger chunks");
  }
}

}  // namespace sluice::layout
