#include "compare/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "text/values.hpp"

namespace sluice::cli {

namespace {

/// |a - b| and max(|a|, |b|). An integer of 64 bits is exact where long double has as many.
struct Gap {
  long double gap = 0;
  long double scale = 0;
};

template <class T>
Gap number_gap(const std::byte* a, const std::byte* b) {
  const auto number = [](const std::byte* at) {
    if constexpr (std::is_same_v<T, Float16>) {
      return static_cast<long double>(static_cast<float>(model::load<T>(at)));
    } else {
      return static_cast<long double>(model::load<T>(at));
    }
  };
  const long double x = number(a);
  const long double y = number(b);
  const long double scale = std::max(std::fabs(x), std::fabs(y));
  if (std::isnan(x) || std::isnan(y)) {
    const bool both = std::isnan(x) && std::isnan(y);
    return {both ? 0 : std::numeric_limits<long double>::infinity(), 0};
  }
  return {x == y ? 0 : std::fabs(x - y), std::isinf(scale) ? 0 : scale};
}

template <class T>
Gap complex_gap(const std::byte* a, const std::byte* b) {
  const Gap real = number_gap<T>(a, b);
  const Gap imaginary = number_gap<T>(a + sizeof(T), b + sizeof(T));
  return {std::hypot(real.gap, imaginary.gap), std::hypot(real.scale, imaginary.scale)};
}

using GapOf = Gap (*)(const std::byte*, const std::byte*);

/// Empty for values that are not numbers.
GapOf gap_function(Kind kind) {
  switch (kind) {
    case Kind::i8:
      return number_gap<std::int8_t>;
    case Kind::i16:
      return number_gap<std::int16_t>;
    case Kind::i32:
      return number_gap<std::int32_t>;
    case Kind::i64:
      return number_gap<std::int64_t>;
    case Kind::u8:
      return number_gap<std::uint8_t>;
    case Kind::u16:
      return number_gap<std::uint16_t>;
    case Kind::u32:
      return number_gap<std::uint32_t>;
    case Kind::u64:
      return number_gap<std::uint64_t>;
    case Kind::f16:
      return number_gap<Float16>;
    case Kind::f32:
      return number_gap<float>;
    case Kind::f64:
      return number_gap<double>;
    case Kind::c64:
      return complex_gap<float>;
    case Kind::c128:
      return complex_gap<double>;
    default:
      return nullptr;
  }
}

bool comes_before(const Pair& a, const Pair& b) {
  return a.step != b.step
             ? a.step < b.step
             : std::lexicographical_compare(a.at.begin(), a.at.end(), b.at.begin(), b.at.end());
}

/// The coordinates of element number `index` of a dense box.
model::Dims place_of(const model::Box& box, std::uint64_t index) {
  model::Dims at = box.start;
  for (int d = box.count.rank() - 1; d >= 0; --d) {
    at[d] += index % box.count[d];
    index /= box.count[d];
  }
  return at;
}

}  // namespace

void Differences::merge(const Differences& other) {
  elements += other.elements;
  differing += other.differing;
  const bool is_better =
      other.largest &&
      (!largest || other.largest->gap > largest->gap ||
       (other.largest->gap == largest->gap && comes_before(*other.largest, *largest)));
  if (is_better) {
    largest = other.largest;
  }
}

void Differences::write_to(model::ByteWriter& out) const {
  out.put(elements);
  out.put(differing);
  out.put(largest.has_value());
  if (largest) {
    out.put(largest->gap);
    out.put(largest->step);
    out.put(largest->at);
    out.put(largest->a);
    out.put(largest->b);
  }
}

Differences Differences::read_from(model::ByteReader& in) {
  Differences found;
  found.elements = in.get<std::uint64_t>();
  found.differing = in.get<std::uint64_t>();
  if (in.get<bool>()) {
    Pair pair;
    pair.gap = in.get<double>();
    pair.step = in.get<std::uint64_t>();
    pair.at = in.get<model::Dims>();
    pair.a = in.get_string();
    pair.b = in.get_string();
    found.largest = pair;
  }
  return found;
}

void compare(std::span<const std::byte> a, std::span<const std::byte> b, const Type& type,
             const model::Box& part, std::uint64_t step, const Tolerance& tolerance,
             Differences& into) {
  into.elements += part.volume();
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) {
    return;
  }
  const GapOf gap_of = gap_function(type.kind);
  const double absolute = tolerance.absolute.value_or(0);
  const double relative = tolerance.relative.value_or(0);
  double largest = -1;
  std::uint64_t largest_index = 0;
  const std::uint64_t count = part.volume();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::byte* left = &a[i * type.bytes];
    const std::byte* right = &b[i * type.bytes];
    if (std::memcmp(left, right, type.bytes) == 0) {
      continue;
    }
    const Gap gap = gap_of != nullptr ? gap_of(left, right) : Gap{};
    const bool is_close = gap_of != nullptr && !tolerance.is_exact() &&
                          (gap.gap <= absolute || gap.gap <= relative * gap.scale);
    into.differing += is_close ? 0 : 1;
    if (static_cast<double>(gap.gap) > largest) {
      largest = static_cast<double>(gap.gap);
      largest_index = i;
    }
  }
  Pair pair{largest, step, place_of(part, largest_index), "", ""};
  append_value(pair.a, &a[largest_index * type.bytes], type, Style::text);
  append_value(pair.b, &b[largest_index * type.bytes], type, Style::text);
  Differences found;
  found.largest = std::move(pair);
  into.merge(found);
}

}  // namespace sluice::cli
