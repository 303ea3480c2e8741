#include "codec/quantise.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "sluice/error.hpp"

namespace sluice::codec {

namespace {

/// NC_FILL_FLOAT and NC_FILL_DOUBLE: 15 * 2^119.
constexpr float default_fill = 9.9692099683868690e+36F;

template <class Number>
struct Layout;
template <>
struct Layout<float> {
  using Bits = std::uint32_t;
  static constexpr int explicit_bits = 23;
  static constexpr Bits exponent = 0x7f800000;
};
template <>
struct Layout<double> {
  using Bits = std::uint64_t;
  static constexpr int explicit_bits = 52;
  static constexpr Bits exponent = 0x7ff0000000000000;
};

/// Rounds to the nearest multiple of the bit behind the `dropped` lowest ones, half of it away from
/// zero. `bits` are those of a finite number; what would become infinite stays.
template <class Number>
typename Layout<Number>::Bits rounded(typename Layout<Number>::Bits bits, int dropped) {
  using Bits = typename Layout<Number>::Bits;
  const Bits mask = static_cast<Bits>(~Bits{0}) << dropped;
  const Bits result = (bits + (~mask & (mask >> 1))) & mask;
  return (result & Layout<Number>::exponent) == Layout<Number>::exponent ? bits : result;
}

/// Replaces every number that is finite and not `fill` by what `round` makes of its bits.
template <class Number, class Round>
void for_each_number(Number fill, std::span<std::byte> numbers, Round&& round) {
  using Bits = typename Layout<Number>::Bits;
  for (std::size_t at = 0; at + sizeof(Number) <= numbers.size(); at += sizeof(Number)) {
    Bits bits = 0;
    std::memcpy(&bits, numbers.data() + at, sizeof bits);
    const bool is_finite = (bits & Layout<Number>::exponent) != Layout<Number>::exponent;
    const bool stays = !is_finite || std::bit_cast<Number>(bits) == fill;
    bits = stays ? bits : round(bits);
    std::memcpy(numbers.data() + at, &bits, sizeof bits);
  }
}

template <class Number>
void round_bits(int kept, Number fill, std::span<std::byte> numbers) {
  const int dropped = Layout<Number>::explicit_bits - kept;
  for_each_number<Number>(fill, numbers, [&](auto bits) { return rounded<Number>(bits, dropped); });
}

/// How many bits behind the first a number needs for so many decimal digits: its last digit that
/// counts is at least 2^quantum, the largest power of two that is not above 10^(digits of its
/// integer part - wanted). mantissa in [0.5, 1), value = mantissa * 2^exponent.
/// In the operations and the order in which netCDF-C has them, for the same bits.
int bits_needed(double mantissa, int exponent, int wanted) {
  constexpr double bits_a_digit = std::numbers::ln10 / std::numbers::ln2;
  constexpr double digits_a_bit = std::numbers::ln2 / std::numbers::ln10;
  const double log = std::log10(mantissa);
  const int digits = static_cast<int>(std::floor(exponent * digits_a_bit + log)) + 1;
  const int quantum = static_cast<int>(std::floor(bits_a_digit * (digits - wanted)));
  return std::abs(static_cast<int>(std::floor(exponent - bits_a_digit * log)) - quantum) - 1;
}

/// The bits that numbers of one binary exponent need: they change at most once, where the number of
/// decimal digits does.
class Octave {
 public:
  bool is_known() const { return lower_ >= 0; }
  void learn(int exponent, int wanted) {
    double low = 0.5 + near;
    double high = 1.0 - near;
    lower_ = bits_needed(low, exponent, wanted);
    upper_ = bits_needed(high, exponent, wanted);
    while (lower_ != upper_ && high - low > near) {
      const double middle = low + (high - low) / 2;
      (bits_needed(middle, exponent, wanted) == lower_ ? low : high) = middle;
    }
    change_ = lower_ == upper_ ? 2.0 : low;
  }
  int of(double mantissa, int exponent, int wanted) const {
    // What lies at an end of the octave or at the change, where the formula rounds, takes the long
    // way.
    const bool is_plain =
        mantissa > 0.5 + near && mantissa < 1.0 - near && std::abs(mantissa - change_) > 2 * near;
    return !is_plain ? bits_needed(mantissa, exponent, wanted)
                     : (mantissa < change_ ? lower_ : upper_);
  }

 private:
  static constexpr double near = 1e-9;
  double change_ = 0;
  int lower_ = -1;
  int upper_ = -1;
};

template <class Number>
void round_digits(int kept, Number fill, std::span<std::byte> numbers) {
  constexpr int lowest = std::numeric_limits<Number>::min_exponent - 64;
  constexpr int highest = std::numeric_limits<Number>::max_exponent;
  std::vector<Octave> octaves(static_cast<std::size_t>(highest - lowest + 1));
  for_each_number<Number>(fill, numbers, [&](auto bits) {
    const auto value = static_cast<double>(std::bit_cast<Number>(bits));
    if (value == 0) {
      return bits;
    }
    int exponent = 0;
    const double mantissa = std::abs(std::frexp(value, &exponent));
    Octave& octave = octaves[static_cast<std::size_t>(exponent - lowest)];
    if (!octave.is_known()) {
      octave.learn(exponent, kept);
    }
    const int dropped = Layout<Number>::explicit_bits - octave.of(mantissa, exponent, kept);
    return dropped <= 0 ? bits : rounded<Number>(bits, dropped);
  });
}

constexpr std::array rows{
    Quantiser{"round", "_QuantizeBitRoundNumberOfSignificantBits", "bitround", "quantization_nsb",
              "bits", 23, 52, round_bits<float>, round_bits<double>},
    Quantiser{"digits", "_QuantizeGranularBitRoundNumberOfSignificantDigits", "granular_bitround",
              "quantization_nsd", "decimal digits", 6, 15, round_digits<float>,
              round_digits<double>},
};

template <class Number>
Number fill_of(std::span<const std::byte> fill) {
  Number number = default_fill;
  if (fill.size() == sizeof number) {
    std::memcpy(&number, fill.data(), sizeof number);
  }
  return number;
}

}  // namespace

std::span<const Quantiser> quantisers() { return rows; }

std::string Rounding::text() const {
  return std::string(quantiser->name) + ":" + std::to_string(kept);
}

void Rounding::apply(std::uint32_t element_bytes, std::span<const std::byte> fill,
                     std::span<std::byte> numbers) const {
  if (element_bytes == sizeof(float)) {
    quantiser->round_floats(kept, fill_of<float>(fill), numbers);
  } else {
    quantiser->round_doubles(kept, fill_of<double>(fill), numbers);
  }
}

Compression parse_compression(const std::string& text) {
  const std::size_t colon = text.find(':');
  for (const Quantiser& row : rows) {
    if (text.substr(0, std::min(colon, text.find('+'))) != row.name) {
      continue;
    }
    const std::size_t plus = text.find('+');
    const std::string compressor = plus == std::string::npos ? "" : text.substr(plus + 1);
    int kept = 0;
    const char* const begin = text.data() + std::min(text.size(), colon + 1);
    const char* const end = text.data() + std::min(text.size(), plus);
    const bool is_number = colon != std::string::npos && colon < plus && begin < end &&
                           std::from_chars(begin, end, kept).ptr == end;
    if (!is_number || kept < 1 || kept > row.most_of_double || compressor.empty() ||
        compressor == "none" || compressor == "none+noshuffle") {
      throw Error(Code::invalid_argument, "compress \"" + text + "\": say how many " + row.digits +
                                              " are kept, and what compresses them: " + row.name +
                                              ":1.." + std::to_string(row.most_of_double) +
                                              "+zstd:3 (float32: up to " +
                                              std::to_string(row.most_of_float) + ")");
    }
    return {Rounding{&row, kept}, compressor};
  }
  return {std::nullopt, text};
}

}  // namespace sluice::codec
