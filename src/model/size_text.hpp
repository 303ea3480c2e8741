// Sizes and times as people write them: "4 MiB", "4194304"; "15 s".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::model {

/// What parse_bytes() accepts, for messages.
inline constexpr const char* bytes_expected =
    "number of bytes: say 4194304, or 4 MiB (KiB, MiB, GiB, TiB)";

/// Empty if `text` is not a size, or one that does not fit.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// "4 MiB" and the like, such that parse_bytes() returns the same number; "0" for 0.
std::string bytes_text(std::uint64_t bytes);

/// "15 s", "0.25 s", "1800 s": six digits at most.
std::string seconds_text(double seconds);

}  // namespace sluice::model
