// A font of 5 x 7 dots for text in pictures.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::cli {

inline constexpr int glyph_columns = 5;
inline constexpr int glyph_rows = 7;

/// Rows from the top; the highest of the five bits is on the left.
using Glyph = std::array<std::uint8_t, glyph_rows>;

/// Latin letters are without their accents. A box for a character that the font does not have.
const Glyph& glyph_of(char32_t letter);

/// The code points of UTF-8 text.
std::u32string letters_of(std::string_view text);

}  // namespace sluice::cli
