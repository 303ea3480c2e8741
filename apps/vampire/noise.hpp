// Thermal noise that depends on nothing but (seed, stream, atom, step): the same on any number of
// ranks, in any order, from any compiler.
//
// The random bits are Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011). Normal deviates follow
// by the Box-Muller transform, whose logarithm, sine and cosine are computed here from +, -, *, /
// and sqrt alone: these round the same way everywhere, which a mathematics library does not
// promise.
#pragma once

#include <array>
#include <cstdint>

#include "vec3.hpp"

namespace vampire {

/// What the numbers are for: equal (seed, atom, step) of different streams are independent.
enum class Stream : std::uint32_t { thermal = 1, initial = 2 };

/// Ten rounds over a counter of four words with a key of two.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// Three independent normal deviates of mean 0 and variance 1 (none beyond 6.7 in magnitude).
Vec3 normal3(std::uint64_t seed, Stream stream, std::uint64_t atom, std::uint32_t step);

/// ln((k + 1/2) / 2^32) and cos, sin of the angle 2 pi (k + 1/2) / 2^32.
double log_of_uniform(std::uint32_t k);
std::array<double, 2> cos_sin_of_turn(std::uint32_t k);

}  // namespace vampire
