// The library's checksum against the plain form of its algorithm, with whatever instructions it
// uses.
#define XXH_INLINE_ALL
#define XXH_VECTOR XXH_SCALAR
#include "codec/checksum.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <random>
#include <vector>
#include <xxhash.h>

namespace sluice::codec {
namespace {

std::vector<std::byte> noise(std::size_t bytes) {
  std::mt19937_64 random(bytes);
  std::vector<std::byte> out(bytes);
  for (std::byte& byte : out) {
    byte = static_cast<std::byte>(random());
  }
  return out;
}

TEST(checksum, is_xxh3_of_64_bits) {
  EXPECT_EQ(checksum(std::string_view()), 0x2d06800538d394c2ULL);  // as published
  for (const std::size_t bytes : {1, 3, 16, 17, 128, 129, 240, 241, 1024, 4097, 100003}) {
    const std::vector<std::byte> data = noise(bytes);
    EXPECT_EQ(checksum(data), XXH3_64bits(data.data(), data.size())) << bytes;
  }
}

TEST(checksum, of_pieces_is_that_of_the_whole) {
  const std::vector<std::byte> data = noise(300001);
  std::mt19937 random(7);
  Checksum pieces;
  for (const std::size_t most : {1, 63, 64, 300, 4096, 70000}) {
    pieces.restart();
    for (std::size_t at = 0; at < data.size();) {
      const std::size_t piece = std::min<std::size_t>(data.size() - at, random() % (most + 1));
      pieces.update(std::span(data).subspan(at, piece));
      at += piece;
    }
    EXPECT_EQ(pieces.value(), XXH3_64bits(data.data(), data.size())) << most;
  }
}

#if defined(__x86_64__)
/// Are the upper halves of ymm0 to ymm15 nonzero? Only if the processor has them.
bool has_dirty_registers() {
  std::array<std::uint64_t, 32> upper;
  asm volatile(
      ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
      "vextractf128 $1, %%ymm\\n, 16 * \\n(%0)\n"
      ".endr"
      :
      : "r"(upper.data())
      : "memory");
  return std::any_of(upper.begin(), upper.end(), [](auto half) { return half != 0; });
}

TEST(checksum, leaves_the_vector_registers_clean) {
  if (__builtin_cpu_supports("avx") == 0) {
    GTEST_SKIP() << "a processor without them";
  }
  for (const std::size_t bytes : {16, 240, 241, 1024, 100003}) {
    const std::vector<std::byte> data = noise(bytes);
    Checksum pieces;
    checksum(data);
    EXPECT_FALSE(has_dirty_registers()) << bytes;
    pieces.update(data);
    EXPECT_FALSE(has_dirty_registers()) << "update, " << bytes;
    static_cast<void>(pieces.value());
    EXPECT_FALSE(has_dirty_registers()) << "value, " << bytes;
  }
}
#endif

}  // namespace
}  // namespace sluice::codec
