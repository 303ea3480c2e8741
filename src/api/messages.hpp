// Messages of the library, a line at a time: to stderr, or to a callback of the program.
#pragma once

#include <string>

namespace sluice::detail {

/// Tells "sluice: `text`". On the rank that reports; any thread.
void say(const std::string& text) noexcept;

}  // namespace sluice::detail
