// The stripe size is read from a Lustre attribute only where it makes sense.
#include "storage/stripe.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <vector>

#include "storage/scratch.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {
namespace {

/// The head of a plain layout: magic, pattern, object id, stripe size, stripe count, offset.
std::vector<std::byte> layout(std::uint32_t magic, std::uint32_t stripe, std::size_t bytes = 56) {
  std::vector<std::byte> all(std::max<std::size_t>(bytes, 32), std::byte{0xAB});
  std::memcpy(all.data(), &magic, 4);
  std::memcpy(all.data() + 24, &stripe, 4);
  all.resize(bytes);
  return all;
}

TEST(Stripe, OfPlainLustreLayouts) {
  EXPECT_EQ(lustre_stripe_bytes(layout(0x0BD10BD0, 1 << 20)), 1u << 20);
  EXPECT_EQ(lustre_stripe_bytes(layout(0x0BD30BD0, 4 << 20)), 4u << 20);
  EXPECT_EQ(lustre_stripe_bytes(layout(0x0BD30BD0, 0xFFFF0000)), 0xFFFF0000u);
}

TEST(Stripe, NothingElseIsBelieved) {
  EXPECT_EQ(lustre_stripe_bytes({}), 0u);
  EXPECT_EQ(lustre_stripe_bytes(layout(0x0BD60BD0, 1 << 20)), 0u);  // composite
  EXPECT_EQ(lustre_stripe_bytes(layout(0x0BD10BD0, 0)), 0u);
  EXPECT_EQ(lustre_stripe_bytes(layout(0x0BD10BD0, 65537)), 0u);
  for (std::size_t bytes = 0; bytes < 28; ++bytes) {
    EXPECT_EQ(lustre_stripe_bytes(layout(0x0BD10BD0, 1 << 20, bytes)), 0u) << bytes;
  }
}

TEST(Stripe, OfThisFileSystemIsItsLargeBlockOrNothing) {
  Scratch scratch;
  struct stat status = {};
  ASSERT_EQ(::stat(scratch.folder().c_str(), &status), 0);
  const std::uint64_t expected = status.st_blksize >= 1 << 20 ? status.st_blksize : 0;
  EXPECT_EQ(make_posix()->stripe_bytes(scratch / "not-there-yet"), expected);
  EXPECT_EQ(make_direct()->stripe_bytes(scratch.folder()), expected);
  EXPECT_EQ(make_posix()->stripe_bytes(scratch / "no/such/folder"), 0u);
}

}  // namespace
}  // namespace sluice::storage
