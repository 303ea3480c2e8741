// Packing and unpacking of every pair of types, in arrays of every form, against brute force: one
// element after the other, by exact arithmetic.
#include "model/convert.hpp"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "model/random_boxes.hpp"

namespace sluice::model {
namespace {

using test::Random;

/// Calls visit.operator()<T>() with the C++ type of a numeric kind.
template <class Visit>
auto with_type(Kind kind, Visit visit) {
  switch (kind) {
    case Kind::i8:
      return visit.template operator()<std::int8_t>();
    case Kind::i16:
      return visit.template operator()<std::int16_t>();
    case Kind::i32:
      return visit.template operator()<std::int32_t>();
    case Kind::i64:
      return visit.template operator()<std::int64_t>();
    case Kind::u8:
      return visit.template operator()<std::uint8_t>();
    case Kind::u16:
      return visit.template operator()<std::uint16_t>();
    case Kind::u32:
      return visit.template operator()<std::uint32_t>();
    case Kind::u64:
      return visit.template operator()<std::uint64_t>();
    case Kind::f32:
      return visit.template operator()<float>();
    default:
      return visit.template operator()<double>();
  }
}

bool is_complex(Kind kind) { return kind == Kind::c64 || kind == Kind::c128; }

Kind part_of(Kind kind) {
  return kind == Kind::c64 ? Kind::f32 : kind == Kind::c128 ? Kind::f64 : kind;
}

/// Represents every value of every numeric type exactly: 64 bits of mantissa.
using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits >= 64);

Exact read_exact(const std::byte* at, Kind kind) {
  return with_type(kind, [&]<class T>() {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return static_cast<Exact>(value);
  });
}

/// Stores a value, wrapped round where it does not fit; says whether it fits.
bool write_exact(Exact value, std::byte* at, Kind kind) {
  return with_type(kind, [&]<class T>() {
    T stored;
    bool fits = true;
    if constexpr (std::is_floating_point_v<T>) {
      stored = static_cast<T>(value);
      fits = !std::isfinite(value) || std::isfinite(stored);
    } else {
      fits = value >= static_cast<Exact>(std::numeric_limits<T>::min()) &&
             value <= static_cast<Exact>(std::numeric_limits<T>::max());
      const std::uint64_t bits = value < 0 ? static_cast<std::uint64_t>(static_cast<long>(value))
                                           : static_cast<std::uint64_t>(value);
      stored = static_cast<T>(bits);
    }
    std::memcpy(at, &stored, sizeof(T));
    return fits;
  });
}

/// One element as convert() should do it; false where it does not fit.
bool convert_element(const std::byte* from, const Type& from_type, std::byte* to,
                     const Type& to_type) {
  if (from_type.kind == Kind::string) {
    std::memset(to, 0, to_type.bytes);
    std::memcpy(to, from, std::min(from_type.bytes, to_type.bytes));
    for (std::uint32_t i = to_type.bytes; i < from_type.bytes; ++i) {
      if (from[i] != std::byte{0}) {
        return false;
      }
    }
    return true;
  }
  if (from_type.kind == Kind::boolean) {
    *to = *from;
    return true;
  }
  const Kind f = part_of(from_type.kind);
  const Kind t = part_of(to_type.kind);
  bool fits = write_exact(read_exact(from, f), to, t);
  if (is_complex(from_type.kind)) {
    const std::size_t half = from_type.bytes / 2;
    fits &= write_exact(read_exact(from + half, f), to + to_type.bytes / 2, t);
  }
  return fits;
}

/// A value that fits every type, or (seldom, where `wild`) one at or near the type's limits.
void write_random(Random& random, bool wild, std::byte* at, Kind kind) {
  with_type(kind, [&]<class T>() {
    using Limits = std::numeric_limits<T>;
    T value = static_cast<T>(test::pick(random, 0, 100));
    if (wild && test::pick(random, 0, 9) == 0) {
      const T extremes[] = {Limits::lowest(),    Limits::max(),
                            static_cast<T>(-1),  static_cast<T>(random()),
                            static_cast<T>(128), static_cast<T>(1u << 31)};
      value = extremes[test::pick(random, 0, std::size(extremes) - 1)];
    }
    if constexpr (std::is_floating_point_v<T>) {
      const T special[] = {Limits::quiet_NaN(),  Limits::infinity(),  -Limits::infinity(),
                           static_cast<T>(-0.0), static_cast<T>(0.1), Limits::denorm_min()};
      if (test::pick(random, 0, 3) == 0) {
        value = special[test::pick(random, 0, std::size(special) - 1)];
      }
    }
    std::memcpy(at, &value, sizeof(T));
    return 0;
  });
}

std::vector<std::byte> random_values(Random& random, bool wild, std::uint64_t count,
                                     const Type& type) {
  std::vector<std::byte> bytes(count * type.bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::byte* at = bytes.data() + i * type.bytes;
    if (type.kind == Kind::string) {
      const std::uint64_t length = test::pick(random, 0, wild ? type.bytes : 2);
      for (std::uint64_t k = 0; k < std::min<std::uint64_t>(length, type.bytes); ++k) {
        at[k] = static_cast<std::byte>(test::pick(random, 'a', 'z'));
      }
    } else if (type.kind == Kind::boolean) {
      *at = static_cast<std::byte>(random() & 1);
    } else {
      write_random(random, wild, at, part_of(type.kind));
      if (is_complex(type.kind)) {
        write_random(random, wild, at + type.bytes / 2, part_of(type.kind));
      }
    }
  }
  return bytes;
}

/// A block in an array with ghost cells, and a part of it.
struct Case {
  Box block;
  Box part;
  Dims memory_shape;
  Dims memory_start;
  Box memory_box;  ///< the array in global coordinates, moved so that it needs no negative ones
};

Case random_case(Random& random) {
  Case c;
  const int rank = static_cast<int>(test::pick(random, 0, 5));
  c.block = test::random_box(random, whole(test::random_shape(random, rank, 5)));
  c.part = test::random_box(random, c.block, test::pick(random, 0, 20) == 0);
  for (int i = 0; i < rank; ++i) {
    const bool ghosted = test::pick(random, 0, 1) == 0;
    c.block.start[i] += 10;
    c.part.start[i] += 10;
    c.memory_start.push_back(ghosted ? test::pick(random, 0, 2) : 0);
    c.memory_shape.push_back(c.memory_start[i] + c.block.count[i] +
                             (ghosted ? test::pick(random, 0, 2) : 0));
    c.memory_box.start.push_back(c.block.start[i] - c.memory_start[i]);
    c.memory_box.count.push_back(c.memory_shape[i]);
  }
  return c;
}

std::vector<Type> all_types() {
  std::vector<Type> types;
  for (int kind = 1; kind <= static_cast<int>(Kind::boolean); ++kind) {
    types.push_back(type_of(static_cast<Kind>(kind)));
  }
  for (std::uint32_t length : {1U, 2U, 5U, 24U, 40U}) {
    types.push_back(string_type(length));
  }
  return types;
}

/// Runs `move`; the text of its Error overflow, or "" without one.
template <class Move>
std::string overflow_of(Move move) {
  try {
    move();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::overflow) << error.what();
    return error.what();
  }
  return "";
}

void expect_refusal(const std::string& text, const std::optional<Dims>& misfit, const Type& to) {
  if (!misfit) {
    EXPECT_EQ(text, "");
    return;
  }
  const std::string place = " at " + misfit->text() + " does not fit " + type_name(to);
  EXPECT_NE(text.find(place), std::string::npos) << text << " instead of ..." << place;
}

void check_pack(Random& random, const Case& c, bool wild, const Type& from, const Type& to) {
  const auto memory = random_values(random, wild, c.memory_shape.volume(), from);
  std::vector<std::byte> shifted(memory.size() + 1);  // odd addresses must work too
  std::memcpy(shifted.data() + 1, memory.data(), memory.size());
  const ConstMemory place{shifted.data() + 1, from, c.memory_shape, c.memory_start};

  std::vector<std::byte> expected(c.part.volume() * to.bytes);
  std::optional<Dims> misfit;
  std::size_t k = 0;
  for (const Dims& at : test::elements_of(c.part)) {
    const std::byte* element = memory.data() + test::place_of(at, c.memory_box) * from.bytes;
    if (!convert_element(element, from, expected.data() + k++ * to.bytes, to) && !misfit) {
      misfit = at;
    }
  }
  std::vector<std::byte> packed(expected.size());
  expect_refusal(overflow_of([&] { pack(place, c.block, c.part, to, false, packed); }), misfit, to);
  pack(place, c.block, c.part, to, true, packed);
  EXPECT_EQ(packed, expected);
  if (is_dense(place, c.block, c.part, to) && !c.part.empty()) {
    EXPECT_EQ(from, to);
    EXPECT_EQ(std::memcmp(address_of(place, c.block, c.part), expected.data(), expected.size()), 0);
  }
}

void check_unpack(Random& random, const Case& c, bool wild, const Type& from, const Type& to) {
  const auto bytes = random_values(random, wild, c.part.volume(), from);
  auto memory = random_values(random, wild, c.memory_shape.volume(), to);
  auto expected = memory;
  std::optional<Dims> misfit;
  std::size_t k = 0;
  for (const Dims& at : test::elements_of(c.part)) {
    std::byte* element = expected.data() + test::place_of(at, c.memory_box) * to.bytes;
    if (!convert_element(bytes.data() + k++ * from.bytes, from, element, to) && !misfit) {
      misfit = at;
    }
  }
  const Memory place{memory.data(), to, c.memory_shape, c.memory_start};
  expect_refusal(overflow_of([&] { unpack(bytes, from, c.block, c.part, place, false); }), misfit,
                 to);
  unpack(bytes, from, c.block, c.part, place, true);
  EXPECT_EQ(memory, expected);
}

TEST(Convert, EveryPairOfTypesAgreesWithBruteForce) {
  Random random(4);
  int pairs = 0;
  for (const Type& from : all_types()) {
    for (const Type& to : all_types()) {
      if (!convertible(from, to)) {
        continue;
      }
      ++pairs;
      for (int round = 0; round < 40; ++round) {
        const Case c = random_case(random);
        check_pack(random, c, round % 2 == 0, from, to);
        check_unpack(random, c, round % 2 == 0, from, to);
        ASSERT_FALSE(HasFailure()) << type_name(from) << " to " << type_name(to) << ", part "
                                   << c.part.text() << " of memory " << c.memory_shape.text();
      }
    }
  }
  EXPECT_EQ(pairs, 84 + 4 + 1 + 25);
}

TEST(Convert, OnlyWhatKeepsItsKind) {
  const auto may = [](Kind from, Kind to) { return convertible(type_of(from), type_of(to)); };
  EXPECT_TRUE(may(Kind::i64, Kind::f32));
  EXPECT_TRUE(may(Kind::f64, Kind::f32));
  EXPECT_FALSE(may(Kind::f32, Kind::i64));
  EXPECT_FALSE(may(Kind::c64, Kind::f64));
  EXPECT_FALSE(may(Kind::f64, Kind::c128));
  EXPECT_TRUE(may(Kind::c128, Kind::c64));
  EXPECT_FALSE(may(Kind::boolean, Kind::u8));
  EXPECT_FALSE(may(Kind::u8, Kind::boolean));
  EXPECT_TRUE(convertible(string_type(3), string_type(9)));
  EXPECT_TRUE(convertible(string_type(9), string_type(3)));
  EXPECT_FALSE(convertible(string_type(1), type_of(Kind::u8)));
  // sizes that are not those of the kind would lead outside the memory
  EXPECT_FALSE(convertible({Kind::f64, 4}, {Kind::f64, 4}));
  EXPECT_FALSE(convertible({Kind::string, 0}, {Kind::string, 0}));
  EXPECT_FALSE(convertible({static_cast<Kind>(99), 8}, {static_cast<Kind>(99), 8}));
}

TEST(Convert, DenseIsOneRunOfTheFilesBytes) {
  std::vector<double> values(60);
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  const Type f64 = type_of<double>();
  const ConstMemory memory{data, f64, {3, 4, 5}, {0, 0, 0}};
  const Box block = whole({3, 4, 5});
  EXPECT_TRUE(is_dense(memory, block, block, f64));
  EXPECT_TRUE(is_dense(memory, block, {{1, 0, 0}, {2, 4, 5}}, f64));
  EXPECT_TRUE(is_dense(memory, block, {{1, 2, 0}, {1, 2, 5}}, f64));
  EXPECT_TRUE(is_dense(memory, block, {{1, 2, 3}, {1, 1, 2}}, f64));
  EXPECT_FALSE(is_dense(memory, block, {{1, 0, 0}, {2, 2, 5}}, f64));
  EXPECT_FALSE(is_dense(memory, block, {{0, 0, 2}, {3, 1, 1}}, f64));
  EXPECT_FALSE(is_dense(memory, block, block, type_of<float>()));
  EXPECT_EQ(address_of(memory, block, {{1, 2, 3}, {1, 1, 2}}), data + 8 * (20 + 10 + 3));
}

TEST(Convert, NothingLeadsOutsideTheMemory) {
  std::vector<double> values(20);
  const Type f64 = type_of<double>();
  const ConstMemory memory{reinterpret_cast<const std::byte*>(values.data()), f64, {4, 5}, {1, 1}};
  std::vector<std::byte> out(8 * 12);
  const Box block = whole({3, 4});
  const auto code = [&](const ConstMemory& from, const Box& put, const Box& part, const Type& type,
                        std::size_t bytes) {
    try {
      pack(from, put, part, type, false, std::span(out).first(bytes));
    } catch (const Error& error) {
      return error.code();
    }
    return Code::ok;
  };
  EXPECT_EQ(code(memory, block, block, f64, 96), Code::ok);
  EXPECT_EQ(code(memory, block, block, f64, 88), Code::internal);
  EXPECT_EQ(code(memory, block, {{0, 0}, {4, 3}}, f64, 96), Code::internal);
  EXPECT_EQ(code(memory, whole({4, 3}), whole({4, 3}), f64, 96), Code::invalid_argument);
  EXPECT_EQ(code({memory.data, f64, {20}, {1}}, block, block, f64, 96), Code::invalid_argument);
  EXPECT_EQ(code({nullptr, f64, {4, 5}, {1, 1}}, block, block, f64, 96), Code::invalid_argument);
  EXPECT_EQ(code(memory, block, block, type_of<int>(), 48), Code::type_mismatch);
  const Box none{{0, 0}, {0, 4}};
  EXPECT_EQ(code({nullptr, f64, {0, 4}, {0, 0}}, none, none, f64, 0), Code::ok);
}

}  // namespace
}  // namespace sluice::model
