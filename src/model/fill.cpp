#include "model/fill.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace sluice::model {

namespace {

/// Calls `use` with a value of the number type; false for types that are not numbers.
template <class Use>
bool with_number(const Type& type, Use&& use) {
  switch (type.kind) {
    case Kind::i8:
      return use(std::int8_t{});
    case Kind::i16:
      return use(std::int16_t{});
    case Kind::i32:
      return use(std::int32_t{});
    case Kind::i64:
      return use(std::int64_t{});
    case Kind::u8:
      return use(std::uint8_t{});
    case Kind::u16:
      return use(std::uint16_t{});
    case Kind::u32:
      return use(std::uint32_t{});
    case Kind::u64:
      return use(std::uint64_t{});
    case Kind::f32:
      return use(float{});
    case Kind::f64:
      return use(double{});
    default:
      return false;
  }
}

}  // namespace

bool can_fill(const Type& type, double value) {
  const bool is_number = with_number(type, [&](auto example) {
    using T = decltype(example);
    if constexpr (std::is_floating_point_v<T>) {
      return true;
    } else {
      // 2^63 and 2^64 are exact in a double; the limits themselves are not.
      const double low = static_cast<double>(std::numeric_limits<T>::min());
      const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
      return value >= low && value < high && std::trunc(value) == value;
    }
  });
  const bool counts = type.kind < Kind::c64;
  return counts ? is_number : value == 0;
}

void fill(std::span<std::byte> bytes, const Type& type, double value) {
  const bool done = with_number(type, [&](auto example) {
    using T = decltype(example);
    const T element = static_cast<T>(value);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
      std::memcpy(&bytes[at], &element, sizeof(T));
    }
    return true;
  });
  if (!done && !bytes.empty()) {
    std::memset(bytes.data(), 0, bytes.size());
  }
}

}  // namespace sluice::model
