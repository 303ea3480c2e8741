// Memory that is moved to disk beyond a limit: the same bytes either way, and nothing left behind.
#include "storage/spill.hpp"

#include <filesystem>
#include <gtest/gtest.h>

#include "sluice/error.hpp"

namespace sluice::storage {
namespace {

TEST(Spill, HoldsItsBytesInMemoryAndInAFile) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "sluice-spill-test";
  std::filesystem::create_directory(folder);
  for (const std::uint64_t limit : {1ULL << 20, 1000ULL}) {
    Spill spill(100000, limit, folder.string());
    EXPECT_EQ(spill.in_file(), limit < 100000);
    ASSERT_EQ(spill.bytes().size(), 100000U);
    for (std::size_t i = 0; i < 100000; ++i) {
      ASSERT_EQ(spill.bytes()[i], std::byte{0});
      spill.bytes()[i] = static_cast<std::byte>(i * 7);
    }
    spill.let_go();
    Spill moved = std::move(spill);
    for (std::size_t i = 0; i < 100000; ++i) {
      ASSERT_EQ(moved.bytes()[i], static_cast<std::byte>(i * 7)) << i;
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  std::filesystem::remove_all(folder);
}

TEST(Spill, SaysWhereThereIsNoRoom) { EXPECT_THROW(Spill(1 << 20, 0, "no/such/folder"), Error); }

}  // namespace
}  // namespace sluice::storage
