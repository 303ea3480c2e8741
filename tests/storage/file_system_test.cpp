// What a file system says of itself is read where it makes sense, and nowhere else.
#include "storage/file_system.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <vector>

#include "storage/scratch.hpp"
#include "storage/storage.hpp"
#include "support/memory_storage.hpp"

namespace sluice::storage {
namespace {

constexpr std::uint32_t plain_1 = 0x0BD10BD0;
constexpr std::uint32_t plain_3 = 0x0BD30BD0;
constexpr std::uint32_t composite = 0x0BD60BD0;

template <class Number>
void put(std::vector<std::byte>& bytes, std::size_t at, Number value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// The head of a plain layout: magic, pattern, object id, stripe size, stripe count, generation.
std::vector<std::byte> layout(std::uint32_t magic, std::uint32_t stripe, std::uint16_t count = 4,
                              std::size_t bytes = 56) {
  std::vector<std::byte> all(std::max<std::size_t>(bytes, 32), std::byte{0xAB});
  put(all, 0, magic);
  put(all, 24, stripe);
  put(all, 28, count);
  all.resize(bytes);
  return all;
}

/// A composite layout: 32 bytes of head, 48 an entry with the place of its plain layout, those.
std::vector<std::byte> composite_of(const std::vector<std::vector<std::byte>>& components) {
  std::vector<std::byte> all(32 + 48 * components.size(), std::byte{0});
  put(all, 0, composite);
  put(all, 14, static_cast<std::uint16_t>(components.size()));
  for (std::size_t i = 0; i < components.size(); ++i) {
    put(all, 32 + 48 * i + 24, static_cast<std::uint32_t>(all.size()));
    put(all, 32 + 48 * i + 28, static_cast<std::uint32_t>(components[i].size()));
    all.insert(all.end(), components[i].begin(), components[i].end());
  }
  return all;
}

TEST(FileSystem, StripesOfPlainLustreLayouts) {
  EXPECT_EQ(lustre_striping(layout(plain_1, 1 << 20, 4)), (Striping{1 << 20, 4}));
  EXPECT_EQ(lustre_striping(layout(plain_3, 4 << 20, 2000)), (Striping{4 << 20, 2000}));
  EXPECT_EQ(lustre_striping(layout(plain_3, 0xFFFF0000, 1)), (Striping{0xFFFF0000, 1}));
  EXPECT_EQ(lustre_striping(layout(plain_1, 1 << 20, 0xFFFF)), (Striping{1 << 20, 0})) << "all";
  EXPECT_EQ(lustre_striping(layout(plain_1, 1 << 20, 4, 30)), (Striping{1 << 20, 4}))
      << "the shortest that says it";
}

TEST(FileSystem, StripesOfTheLastComponentOfALustreLayout) {
  const auto grows = composite_of({layout(plain_1, 1 << 20, 1), layout(plain_3, 4 << 20, 16)});
  EXPECT_EQ(lustre_striping(grows), (Striping{4 << 20, 16}));
  auto torn = grows;
  torn.resize(32 + 48);
  EXPECT_EQ(lustre_striping(torn), Striping{}) << "its second entry is missing";
  for (std::size_t bytes = 0; bytes + 30 < grows.size(); ++bytes) {
    torn.assign(grows.begin(), grows.begin() + static_cast<std::ptrdiff_t>(bytes));
    lustre_striping(torn);  // whatever it answers, it reads nothing beyond the end
  }
  auto wild = grows;
  put(wild, 32 + 48 + 24, std::uint32_t{0xFFFFFFF0});
  EXPECT_EQ(lustre_striping(wild), Striping{}) << "a place beyond the end";
  EXPECT_EQ(lustre_striping(composite_of({})), Striping{});
}

TEST(FileSystem, NothingElseIsBelieved) {
  EXPECT_EQ(lustre_striping({}), Striping{});
  EXPECT_EQ(lustre_striping(layout(0x0BD40BD0, 1 << 20)), Striping{});
  EXPECT_EQ(lustre_striping(layout(plain_1, 0)), Striping{});
  EXPECT_EQ(lustre_striping(layout(plain_1, 65537)), Striping{});
  for (std::size_t bytes = 0; bytes < 30; ++bytes) {
    EXPECT_EQ(lustre_striping(layout(plain_1, 1 << 20, 4, bytes)), Striping{}) << bytes;
  }
}

TEST(FileSystem, StripesAsTextThatAnybodyMaySet) {
  EXPECT_EQ(striping_of_text("size=1048576 count=4"), (Striping{1 << 20, 4}));
  EXPECT_EQ(striping_of_text("size=4096 count=1\n"), (Striping{4096, 1}));
  for (const char* text :
       {"", "size=1048576", "size=1048576 count=", "size=1048576 count=4 more", "size=0 count=4",
        "size=1000 count=4", "size=1048576 count=0", "size=1048576 count=99999999",
        "size=99999999999999999999 count=1", "count=4 size=1048576", " size=4096 count=1"}) {
    EXPECT_EQ(striping_of_text(text), Striping{}) << text;
  }
}

TEST(FileSystem, IsKnownByItsNumber) {
  EXPECT_EQ(kind_of_number(0x01021994).kind, "tmpfs");
  EXPECT_EQ(kind_of_number(0x01021994).reach, Reach::memory);
  EXPECT_EQ(kind_of_number(0xEF53).kind, "ext4");
  EXPECT_EQ(kind_of_number(0xEF53).reach, Reach::node);
  EXPECT_EQ(kind_of_number(0x6969).reach, Reach::server);
  EXPECT_EQ(kind_of_number(0x0BD00BD0).kind, "lustre");
  EXPECT_EQ(kind_of_number(0x47504653).reach, Reach::parallel);
  EXPECT_EQ(kind_of_number(0x65735546).reach, Reach::unknown) << "a FUSE may be anything";
  EXPECT_EQ(kind_of_number(0x12345678).kind, "");
}

TEST(FileSystem, OfThisFolderIsWhatStatfsSays) {
  Scratch scratch;
  struct stat status = {};
  struct statfs system = {};
  ASSERT_EQ(::stat(scratch.folder().c_str(), &status), 0);
  ASSERT_EQ(::statfs(scratch.folder().c_str(), &system), 0);
  const FileSystemFacts expected = kind_of_number(static_cast<std::uint32_t>(system.f_type));
  for (const auto& storage : {make_posix(), make_direct()}) {
    const FileSystemFacts found = storage->file_system(scratch / "not-there-yet");
    EXPECT_EQ(found.kind, expected.kind);
    EXPECT_EQ(found.reach, expected.reach);
    const std::uint64_t block = status.st_blksize >= 1 << 20 ? status.st_blksize : 0;
    EXPECT_EQ(storage->file_system(scratch.folder()).stripe_bytes, block);
    EXPECT_EQ(storage->file_system(scratch / "no/such/folder").kind, "");
  }
}

TEST(FileSystem, OfMemoryIsMemory) {
  struct statfs system = {};
  if (::statfs("/dev/shm", &system) != 0 || system.f_type != 0x01021994) {
    GTEST_SKIP() << "/dev/shm is no tmpfs here";
  }
  const FileSystemFacts found = make_posix()->file_system("/dev/shm/sluice-not-there.h5");
  EXPECT_EQ(found.kind, "tmpfs");
  EXPECT_EQ(found.reach, Reach::memory);
  EXPECT_EQ(found.stripes, 0u);
}

TEST(FileSystem, AFolderMaySayHowItsFilesAreStriped) {
  Scratch scratch;
  const std::string text = "size=2097152 count=8";
  if (::setxattr(scratch.folder().c_str(), "user.striping", text.data(), text.size(), 0) != 0) {
    GTEST_SKIP() << "no user attributes here";
  }
  const FileSystemFacts found = make_posix()->file_system(scratch / "not-there-yet");
  EXPECT_EQ(found.stripe_bytes, 2u << 20);
  EXPECT_EQ(found.stripes, 8u);
  EXPECT_EQ(found.reach, Reach::parallel);
}

TEST(FileSystem, MadeForATestSaysWhatItIsTold) {
  const FileSystemFacts found = make_memory({1, 1 << 20, 4})->file_system("a");
  EXPECT_EQ(found.stripes, 4u);
  EXPECT_EQ(found.reach, Reach::parallel);
  EXPECT_EQ(make_memory()->file_system("a").reach, Reach::unknown);
}

}  // namespace
}  // namespace sluice::storage
