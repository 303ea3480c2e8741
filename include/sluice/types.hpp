/// @file
/// Element types that Sluice stores: sluice::Type, a value that can be compared and printed.
#pragma once

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

/// The type of the C++ type T: an integer of 8 to 64 bits, float, double, std::complex of them, or
/// bool. Other types do not compile. Local.
template <class T>
Type type_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) {
    return {Kind::boolean, 1};
  } else if constexpr (std::is_same_v<U, std::complex<float>>) {
    return {Kind::c64, 8};
  } else if constexpr (std::is_same_v<U, std::complex<double>>) {
    return {Kind::c128, 16};
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

}  // namespace sluice
