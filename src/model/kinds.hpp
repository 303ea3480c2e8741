// Questions about element kinds, and numbers of any of them, float16 included.
#pragma once

#include <type_traits>

#include "sluice/types.hpp"

namespace sluice::model {

constexpr bool is_integer(Kind kind) { return kind >= Kind::i8 && kind <= Kind::u64; }
constexpr bool is_floating(Kind kind) {
  return kind == Kind::f16 || kind == Kind::f32 || kind == Kind::f64;
}
constexpr bool is_complex(Kind kind) { return kind == Kind::c64 || kind == Kind::c128; }
/// A number with one part.
constexpr bool is_real(Kind kind) { return is_integer(kind) || is_floating(kind); }

/// A number as a type that the processor calculates with: a float16 as the float of the same value.
/// Every integer that a float16 can hold is exact in it.
template <class T>
auto widened(T x) {
  if constexpr (std::is_same_v<T, Float16>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}

/// As static_cast, also from and to float16.
template <class To, class From>
To number_as(From x) {
  if constexpr (std::is_same_v<To, Float16>) {
    return Float16(static_cast<double>(x));
  } else {
    return static_cast<To>(widened(x));
  }
}

}  // namespace sluice::model
