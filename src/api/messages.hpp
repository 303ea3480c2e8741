// What the library says, a line at a time: to stderr, or to whom the program has named.
#pragma once

#include <string>

namespace sluice::detail {

/// Says `text` (without its last newline). On the rank that speaks; any thread.
void say(const std::string& text) noexcept;

}  // namespace sluice::detail
