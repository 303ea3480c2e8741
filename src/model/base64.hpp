// Bytes as text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sluice::model {

/// Base64 with padding, of RFC 4648.
std::string base64(std::span<const std::byte> bytes);

}  // namespace sluice::model
