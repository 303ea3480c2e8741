// Whole multiples.
#pragma once

#include <concepts>
#include <type_traits>

namespace sluice::model {

/// The smallest multiple of `unit` that is at least `value`.
template <std::integral Number>
constexpr Number round_up(Number value, std::type_identity_t<Number> unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace sluice::model
