// The element types that Sluice stores, as values that can be sent, compared and printed.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace sluice {

enum class Kind : std::uint8_t {
  i8 = 1,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f32,
  f64,
  c64,      ///< complex of two f32, stored as the compound {r, i} that h5py uses
  c128,     ///< complex of two f64
  boolean,  ///< one byte, stored as h5py's enum {FALSE=0, TRUE=1}
  string,   ///< fixed-length UTF-8, padded with NUL
};

/// An element type: a kind and its size. Two types are equal if both are.
struct Type {
  Kind kind = Kind::f64;
  std::uint32_t bytes = 8;  ///< size of one element; for strings the padded length

  friend bool operator==(const Type&, const Type&) = default;
};

/// The type of kind `kind`; for strings use string_type().
Type type_of(Kind kind);
/// Fixed-length UTF-8 of at most `bytes` bytes.
Type string_type(std::uint32_t bytes);
/// "float64", "complex64", "string[16]", ... as numpy would name it.
std::string type_name(const Type& type);

/// The Sluice type of the C++ type T. Every fixed-width integer and float, std::complex and bool.
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
