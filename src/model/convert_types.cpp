// The conversion loops. Each writes every value and accumulates one word of evidence, so that the
// compiler can vectorise it; which value does not fit is determined only afterwards.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "model/bytes.hpp"
#include "model/convert.hpp"
#include "model/kernels.hpp"
#include "model/kinds.hpp"

namespace sluice::model {
namespace {

template <class T>
constexpr bool is_floating_type = std::is_floating_point_v<T> || std::is_same_v<T, Float16>;

/// Are there values of From that do not fit To?
template <class From, class To>
constexpr bool can_misfit() {
  if constexpr (std::is_same_v<To, Float16>) {
    return sizeof(From) > 1;
  } else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    return !std::in_range<To>(std::numeric_limits<From>::lowest()) ||
           !std::in_range<To>(std::numeric_limits<From>::max());
  } else {
    return is_floating_type<From> && sizeof(To) < sizeof(From);
  }
}

/// Nonzero if `y`, converted from `x`, may have another value.
template <class From, class To>
auto evidence(From x, To y) {
  if constexpr (std::is_same_v<To, Float16>) {
    return static_cast<unsigned>((y.bits & 0x7c00) == 0x7c00);
  } else if constexpr (std::is_floating_point_v<From>) {
    return static_cast<unsigned>(std::fabs(y) > std::numeric_limits<To>::max());
  } else if constexpr (std::is_signed_v<From> && std::is_signed_v<To>) {
    using Word = std::make_unsigned_t<From>;
    return static_cast<Word>(static_cast<Word>(x) ^ static_cast<Word>(static_cast<From>(y)));
  } else {
    // one side is unsigned: x fits if no bit above the largest common value is set (the sign of a
    // negative x is such a bit)
    using Word = std::make_unsigned_t<From>;
    constexpr auto from_max = static_cast<std::uint64_t>(std::numeric_limits<From>::max());
    constexpr auto to_max = static_cast<std::uint64_t>(std::numeric_limits<To>::max());
    constexpr auto common = static_cast<Word>(from_max < to_max ? from_max : to_max);
    return static_cast<Word>(static_cast<Word>(x) & static_cast<Word>(~common));
  }
}

template <class From, class To>
bool fits(From x) {
  if constexpr (!can_misfit<From, To>()) {
    return true;
  } else if constexpr (std::is_same_v<To, Float16>) {
    return !std::isfinite(static_cast<double>(x)) ||
           std::isfinite(widened(Float16(static_cast<double>(x))));
  } else if constexpr (std::is_integral_v<From>) {
    return std::in_range<To>(x);
  } else {
    return !std::isfinite(x) || std::isfinite(static_cast<To>(x));
  }
}

template <class From, class To>
bool convert_run(const std::byte* __restrict from, std::byte* __restrict to, std::size_t count) {
  if constexpr (can_misfit<From, To>()) {
    decltype(evidence<From, To>(From{}, To{})) misfit = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const From x = load<From>(from + i * sizeof(From));
      const To y = number_as<To>(x);
      std::memcpy(to + i * sizeof(To), &y, sizeof(To));
      misfit = static_cast<decltype(misfit)>(misfit | evidence<From, To>(x, y));
    }
    return misfit == 0;
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      const To y = number_as<To>(load<From>(from + i * sizeof(From)));
      std::memcpy(to + i * sizeof(To), &y, sizeof(To));
    }
    return true;
  }
}

template <class From, class To>
bool convert_rows(const Rows& rows) {
  bool all_fit = true;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    all_fit &= convert_run<From, To>(rows.from + row * rows.from_step, rows.to + row * rows.to_step,
                                     rows.run);
  }
  return all_fit;
}

template <class From, class To>
std::size_t first_misfit(const Rows& rows) {
  std::size_t i = 0;
  while (i < rows.run && fits<From, To>(load<From>(rows.from + i * sizeof(From)))) {
    ++i;
  }
  return i;
}

// -- strings --------------------------------------------------------------------------------------

bool string_fits(const std::byte* from, const Rows& rows) {
  for (std::size_t i = rows.to_bytes; i < rows.from_bytes; ++i) {
    if (from[i] != std::byte{0}) {
      return false;
    }
  }
  return true;
}

/// The number of bytes of the string that fit a field of rows.to_bytes without splitting a
/// character.
std::size_t kept_bytes(const std::byte* from, const Rows& rows) {
  if (rows.to_bytes >= rows.from_bytes) {
    return rows.from_bytes;
  }
  const auto continues = [&](std::size_t i) {
    return (from[i] & std::byte{0xc0}) == std::byte{0x80};
  };
  std::size_t kept = rows.to_bytes;
  while (kept > 0 && rows.to_bytes - kept < 3 && continues(kept)) {
    --kept;
  }
  return continues(kept) ? rows.to_bytes : kept;  // not UTF-8 at all: cut at the end of the field
}

bool convert_strings(const Rows& rows) {
  bool all_fit = true;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const std::byte* from = rows.from + row * rows.from_step;
    std::byte* to = rows.to + row * rows.to_step;
    for (std::size_t i = 0; i < rows.run; ++i) {
      const std::size_t kept = kept_bytes(from, rows);
      std::memcpy(to, from, kept);
      std::memset(to + kept, 0, rows.to_bytes - kept);
      all_fit &= string_fits(from, rows);
      from += rows.from_bytes;
      to += rows.to_bytes;
    }
  }
  return all_fit;
}

std::size_t first_string_misfit(const Rows& rows) {
  std::size_t i = 0;
  while (i < rows.run && string_fits(rows.from + i * rows.from_bytes, rows)) {
    ++i;
  }
  return i;
}

// -- the table of all pairs -----------------------------------------------------------------------

/// Integers, float32 and float64 in the order of Kind, and float16, which came later.
constexpr std::size_t numeric_kinds = static_cast<std::size_t>(Kind::f64) + 1;

std::size_t index_of(Kind kind) {
  return kind == Kind::f16 ? numeric_kinds - 1 : static_cast<std::size_t>(kind) - 1;
}

using ConverterRow = std::array<Converter, numeric_kinds>;

template <class From, class To>
constexpr Converter make_converter() {
  if constexpr (std::is_same_v<From, To> || (is_floating_type<From> && std::is_integral_v<To>)) {
    return {};
  } else {
    return {&convert_rows<From, To>, &first_misfit<From, To>, 1};
  }
}

/// In the order of index_of().
template <class From>
constexpr ConverterRow make_row() {
  return {make_converter<From, std::int8_t>(),   make_converter<From, std::int16_t>(),
          make_converter<From, std::int32_t>(),  make_converter<From, std::int64_t>(),
          make_converter<From, std::uint8_t>(),  make_converter<From, std::uint16_t>(),
          make_converter<From, std::uint32_t>(), make_converter<From, std::uint64_t>(),
          make_converter<From, float>(),         make_converter<From, double>(),
          make_converter<From, Float16>()};
}

constexpr std::array<ConverterRow, numeric_kinds> table = {
    make_row<std::int8_t>(),   make_row<std::int16_t>(),  make_row<std::int32_t>(),
    make_row<std::int64_t>(),  make_row<std::uint8_t>(),  make_row<std::uint16_t>(),
    make_row<std::uint32_t>(), make_row<std::uint64_t>(), make_row<float>(),
    make_row<double>(),        make_row<Float16>()};

const Converter& entry(Kind from, Kind to) { return table[index_of(from)][index_of(to)]; }

}  // namespace

bool is_well_formed(const Type& type) {
  if (type.kind == Kind::string) {
    return type.bytes > 0;
  }
  return (is_real(type.kind) || is_complex(type.kind) || type.kind == Kind::boolean) &&
         type.bytes == type_of(type.kind).bytes;
}

bool convertible(const Type& from, const Type& to) {
  if (!is_well_formed(from) || !is_well_formed(to)) {
    return false;
  }
  if (is_real(from.kind) && is_real(to.kind)) {
    return !is_floating(from.kind) || is_floating(to.kind);
  }
  return from.kind == to.kind || (is_complex(from.kind) && is_complex(to.kind));
}

Converter converter(const Type& from, const Type& to) {
  if (!convertible(from, to) || from == to) {
    throw Error(Code::internal, "no converter from " + type_name(from) + " to " + type_name(to));
  }
  if (from.kind == Kind::string) {
    return {&convert_strings, &first_string_misfit, 1};
  }
  if (is_complex(from.kind)) {
    Converter result =
        from.kind == Kind::c64 ? entry(Kind::f32, Kind::f64) : entry(Kind::f64, Kind::f32);
    result.numbers_per_element = 2;
    return result;
  }
  return entry(from.kind, to.kind);
}

}  // namespace sluice::model
