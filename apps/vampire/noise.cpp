#include "noise.hpp"

#include <bit>
#include <cmath>

namespace vampire {
namespace {

constexpr double ln2 = 0.69314718055994530942;
constexpr double quarter_pi = 0.78539816339744830962;

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

double log_of_uniform(std::uint32_t k) {
  // u = odd / 2^33 exactly; u = m 2^e with m in [1/sqrt 2, sqrt 2), so that both sums below are of
  // one sign and nothing cancels near u = 1.
  const std::uint64_t odd = 2ULL * k + 1;
  int exponent = static_cast<int>(std::bit_width(odd)) - 33;
  const int shift = static_cast<int>(std::bit_width(odd));
  double m = static_cast<double>(odd) / static_cast<double>(1ULL << shift);
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  // ln m = 2 artanh s: |s| < 0.172, so twelve terms reach the last bit.
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int n = 23; n >= 1; n -= 2) {
    sum = sum * s2 + 1.0 / n;
  }
  return 2 * s * sum + exponent * ln2;
}

std::array<double, 2> cos_sin_of_turn(std::uint32_t k) {
  // The upper three bits are the eighth of the circle, the rest an angle in (0, pi/4), mirrored in
  // odd eighths so that the series below are used near 0 only.
  const std::uint32_t octant = k >> 29;
  const std::uint64_t odd = 2ULL * (k & 0x1FFFFFFFU) + 1;
  const std::uint64_t mirrored = octant % 2 == 0 ? odd : (1ULL << 30) - odd;
  const double x = static_cast<double>(mirrored) / static_cast<double>(1ULL << 30) * quarter_pi;
  const double x2 = x * x;
  double c = 1;
  double s = 1;
  for (int n = 16; n >= 2; n -= 2) {
    c = 1 - c * x2 / (n * (n - 1));
    s = 1 - s * x2 / (n * (n + 1));
  }
  s *= x;
  switch (octant) {
    case 0:
      return {c, s};
    case 1:
      return {s, c};
    case 2:
      return {-s, c};
    case 3:
      return {-c, s};
    case 4:
      return {-c, -s};
    case 5:
      return {-s, -c};
    case 6:
      return {s, -c};
    default:
      return {c, -s};
  }
}

Vec3 normal3(std::uint64_t seed, Stream stream, std::uint64_t atom, std::uint32_t step) {
  const auto words =
      philox({static_cast<std::uint32_t>(atom), static_cast<std::uint32_t>(atom >> 32), step,
              static_cast<std::uint32_t>(stream)},
             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const double r = std::sqrt(-2 * log_of_uniform(words[0]));
  const double q = std::sqrt(-2 * log_of_uniform(words[2]));
  const auto [c, s] = cos_sin_of_turn(words[1]);
  return {r * c, r * s, q * cos_sin_of_turn(words[3])[0]};
}

}  // namespace vampire
