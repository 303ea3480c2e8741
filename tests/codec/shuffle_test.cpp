// The byte shuffle and fletcher32 against HDF5's definition.
#include "codec/shuffle.hpp"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace sluice::codec {
namespace {

std::vector<std::byte> random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 draw(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(draw());
  }
  return bytes;
}

/// Byte b of element i is at b * elements + i; the rest follows.
std::vector<std::byte> by_definition(std::span<const std::byte> in, std::size_t size) {
  const std::size_t elements = in.size() / size;
  std::vector<std::byte> out(in.begin(), in.end());
  for (std::size_t i = 0; i < elements; ++i) {
    for (std::size_t b = 0; b < size; ++b) {
      out[b * elements + i] = in[i * size + b];
    }
  }
  return out;
}

TEST(Shuffle, IsHdf5sForEverySizeAndLength) {
  for (const std::size_t size : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 100}) {
    for (const std::size_t bytes : {0, 1, 15, 16, 17, 1000, 4096, 16384 + 5, 100003}) {
      const auto in = random_bytes(bytes, static_cast<unsigned>(size * 7 + bytes));
      std::vector<std::byte> out(bytes);
      std::vector<std::byte> back(bytes);
      shuffle(in, size, out);
      EXPECT_EQ(out, by_definition(in, size)) << size << " " << bytes;
      unshuffle(out, size, back);
      EXPECT_EQ(back, in) << size << " " << bytes;
    }
  }
}

TEST(Fletcher32, IsHdf5s) {
  // Sums that h5py's fletcher32 wrote after chunks with the bytes (7 i + 3) mod 256.
  auto sum = [](std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) {
      bytes[i] = static_cast<std::byte>(7 * i + 3);
    }
    return fletcher32(bytes);
  };
  EXPECT_EQ(sum(1), 0x03000300u);
  EXPECT_EQ(sum(2), 0x030a030au);
  EXPECT_EQ(sum(5), 0x4a4e3322u);
  EXPECT_EQ(sum(720), 0xad72d1aau);
  EXPECT_EQ(sum(721), 0x321e84abu);
  EXPECT_EQ(sum(5000), 0x2c1f3ba1u);
}

}  // namespace
}  // namespace sluice::codec
