// Bytes as text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::model {

/// Base64 with padding, of RFC 4648.
std::string base64(std::span<const std::byte> bytes);
/// The inverse; nothing for any other text.
std::optional<std::vector<std::byte>> bytes_of_base64(std::string_view text);

}  // namespace sluice::model
