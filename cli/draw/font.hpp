// A font of 5 x 7 dots for text in pictures.
#pragma once

#include <array>
#include <cstdint>

namespace sluice::cli {

inline constexpr int glyph_columns = 5;
inline constexpr int glyph_rows = 7;

/// Rows from the top; the highest of the five bits is on the left.
using Glyph = std::array<std::uint8_t, glyph_rows>;

/// Characters that the font does not have are blank.
const Glyph& glyph_of(char letter);

}  // namespace sluice::cli
