// What the library says to the user, where nothing else takes its messages.
#pragma once

#include <string>

namespace sluice::storage {

/// "sluice: `text`" to stderr, without control characters; several lines are possible. Any thread.
void say(const std::string& text) noexcept;

}  // namespace sluice::storage
