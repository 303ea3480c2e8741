// Quantisation: numbers are rounded to a few digits before they are compressed, so that the bytes
// that are zero compress well. What is stored are ordinary numbers: nothing is needed to read them.
//
// Invariants: values that have no digits (NaN, infinities, zeros), the fill value, and values whose
// rounding would be infinite stay as they are; every other value has the bits that netCDF-C gives
// it for the same setting; an element depends on nothing but itself, so that it does not matter who
// rounds it, or in which pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::codec {

/// A way of rounding: a row of quantisers().
struct Quantiser {
  const char* name;          ///< as in "round:10"
  const char* attribute;     ///< by which netCDF-C says how many digits were kept
  const char* algorithm;     ///< as CF 1.12 names it
  const char* cf_attribute;  ///< by which CF 1.12 says how many digits were kept
  const char* digits;        ///< what it counts, in words
  int most_of_float;         ///< digits that a float32 has
  int most_of_double;
  /// Rounds little-endian numbers in place, without those that are `fill`.
  void (*round_floats)(int kept, float fill, std::span<std::byte> numbers);
  void (*round_doubles)(int kept, double fill, std::span<std::byte> numbers);
};

/// BitRound ("round", significant bits behind the first) and GranularBitRound ("digits",
/// significant decimal digits).
std::span<const Quantiser> quantisers();

/// What stands in front of a compressor in an option `compress`.
struct Rounding {
  const Quantiser* quantiser = nullptr;
  int kept = 0;

  /// "round:10"
  std::string text() const;
  /// Digits that numbers of so many bytes (4, 8) have.
  int most(std::uint32_t element_bytes) const {
    return element_bytes == 4 ? quantiser->most_of_float : quantiser->most_of_double;
  }
  /// Rounds float32 or float64, by `element_bytes`, in place. `fill`: bytes of one element; empty:
  /// netCDF's default fill value.
  void apply(std::uint32_t element_bytes, std::span<const std::byte> fill,
             std::span<std::byte> numbers) const;
};

/// An option `compress` in its two parts: "digits:3+zstd:3" is {digits:3, "zstd:3"}. Error
/// invalid_argument where the number of digits is none, or no compressor follows.
struct Compression {
  std::optional<Rounding> rounding;
  std::string compressor;
};
Compression parse_compression(const std::string& text);

}  // namespace sluice::codec
