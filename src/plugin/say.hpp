// What the driver says to the user: HDF5 only knows that a call failed.
#pragma once

#include <string>

namespace sluice::plugin {

/// One line to stderr, without control characters.
void say(const std::string& text) noexcept;

}  // namespace sluice::plugin
