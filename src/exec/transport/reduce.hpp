// The operations of reduce and allreduce, shared by the transports.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

/// The result of `op`; a sum wraps around, gcd(0, 0) is 0 and no gcd is negative.
inline std::int64_t combine(std::int64_t a, std::int64_t b, Op op) {
  switch (op) {
    case Op::min:
      return std::min(a, b);
    case Op::max:
      return std::max(a, b);
    case Op::sum:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                       static_cast<std::uint64_t>(b));
    case Op::gcd: {
      // Magnitudes as unsigned: the most negative number has no positive counterpart.
      const auto magnitude = [](std::int64_t x) {
        return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
      };
      return static_cast<std::int64_t>(std::gcd(magnitude(a), magnitude(b)));
    }
  }
  return a;
}

/// into[i] = combine(into[i], from[i]).
inline void combine(std::span<std::int64_t> into, const std::int64_t* from, Op op) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i] = combine(into[i], from[i], op);
  }
}

/// Makes of the values of one rank the result of `op` over it alone: no gcd is negative.
inline void reduce_alone(std::span<std::int64_t> values, Op op) {
  for (std::int64_t& value : values) {
    value = op == Op::gcd ? combine(value, 0, op) : value;
  }
}

}  // namespace sluice::exec
