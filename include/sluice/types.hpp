/// @file
/// Element types that Sluice stores: sluice::Type, a value that can be compared and printed.
#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace sluice {

/// What an element is. The numbers never change.
enum class Kind : std::uint8_t {
  i8 = 1,   ///< Signed integer of 8 bits.
  i16,      ///< Signed integer of 16 bits.
  i32,      ///< Signed integer of 32 bits.
  i64,      ///< Signed integer of 64 bits.
  u8,       ///< Unsigned integer of 8 bits.
  u16,      ///< Unsigned integer of 16 bits.
  u32,      ///< Unsigned integer of 32 bits.
  u64,      ///< Unsigned integer of 64 bits.
  f32,      ///< IEEE single precision.
  f64,      ///< IEEE double precision.
  c64,      ///< Complex of two f32, stored as the compound {r, i} that h5py uses.
  c128,     ///< Complex of two f64, stored likewise.
  boolean,  ///< One byte, stored as h5py's enum {FALSE=0, TRUE=1}.
  string,   ///< Fixed-length UTF-8, padded with NUL.
  f16,      ///< IEEE 754 binary16, as numpy's float16.
};

/// A float16, for compilers that have none.
struct Float16 {
  std::uint16_t bits = 0;  ///< As IEEE 754 binary16 has them.

  /// Zero.
  Float16() = default;
  /// Rounds to the nearest, of two to the even one. Beyond 65504 and what rounds to it: infinite.
  explicit Float16(double value);
  /// The same value.
  explicit operator float() const;
  /// The same value.
  explicit operator double() const { return static_cast<float>(*this); }
  /// As float compares them: NaN equals nothing.
  friend bool operator==(Float16 a, Float16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
};

/// An element type: a kind and its size. Two types are equal if both are equal.
struct Type {
  Kind kind = Kind::f64;    ///< What an element is.
  std::uint32_t bytes = 8;  ///< Size of one element; for strings the padded length.

  /// Equal kind and size.
  friend bool operator==(const Type&, const Type&) = default;
};

/// The type of kind `kind`. For strings use string_type(). Local.
Type type_of(Kind kind);
/// The type of fixed-length UTF-8 of at most `bytes` bytes. Local.
Type string_type(std::uint32_t bytes);
/// The name of a type as numpy has it: `float64`, `complex64`, `string[16]`. Local.
std::string type_name(const Type& type);

/// The type of the C++ type T: an integer of 8 to 64 bits, Float16 or the compiler's own type of 16
/// bits, float, double, std::complex of them, or bool. Other types do not compile. Local.
template <class T>
Type type_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) {
    return {Kind::boolean, 1};
  } else if constexpr (std::is_same_v<U, std::complex<float>>) {
    return {Kind::c64, 8};
  } else if constexpr (std::is_same_v<U, std::complex<double>>) {
    return {Kind::c128, 16};
  } else if constexpr (std::is_same_v<U, Float16>) {
    return {Kind::f16, 2};
#ifdef __FLT16_MAX__
  } else if constexpr (std::is_same_v<U, _Float16>) {
    return {Kind::f16, 2};
#endif
  } else if constexpr (std::is_floating_point_v<U>) {
    static_assert(sizeof(U) == 4 || sizeof(U) == 8, "long double has no portable file type");
    return sizeof(U) == 4 ? Type{Kind::f32, 4} : Type{Kind::f64, 8};
  } else {
    static_assert(std::is_integral_v<U>, "this type has no Sluice type");
    constexpr Kind kinds[2][4] = {{Kind::u8, Kind::u16, Kind::u32, Kind::u64},
                                  {Kind::i8, Kind::i16, Kind::i32, Kind::i64}};
    constexpr int index = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
    return {kinds[std::is_signed_v<U> ? 1 : 0][index], sizeof(U)};
  }
}

inline Float16::Float16(double value) {
  const auto wide = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(wide >> 48 & 0x8000);
  const std::uint64_t fraction = wide & 0xfffffffffffff;
  const int exponent = static_cast<int>(wide >> 52 & 0x7ff) - 1023 + 15;
  if (exponent == 0x7ff - 1023 + 15) {  // a NaN stays one, and quiet
    bits = static_cast<std::uint16_t>(sign | 0x7c00 | (fraction == 0 ? 0 : 0x200 | fraction >> 42));
    return;
  }
  if (exponent >= 31 || exponent < -10) {
    bits = static_cast<std::uint16_t>(sign | (exponent < 0 ? 0 : 0x7c00));
    return;
  }
  const bool is_normal = exponent > 0;
  const int dropped = is_normal ? 42 : 43 - exponent;
  const std::uint64_t whole = is_normal ? fraction : fraction | std::uint64_t{1} << 52;
  const std::uint64_t rest = whole & ((std::uint64_t{1} << dropped) - 1);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  std::uint64_t kept = whole >> dropped;
  if (is_normal) {
    kept |= static_cast<std::uint64_t>(exponent) << 10;
  }
  // A carry goes into the exponent, which is right.
  kept += rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
  bits = static_cast<std::uint16_t>(sign | kept);
}

inline Float16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1f;
  const std::uint32_t fraction = bits & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign == 0 ? magnitude : -magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent - 15 + 127;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace sluice
