// Ragged writes, direct in the middle and buffered at the edges, from several Files of one path:
// always the right bytes, and no direct write ever covers a byte beside its own.
#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"

namespace sluice::storage {
namespace {

constexpr std::uint64_t page = 4096;

struct Extent {
  std::uint64_t offset;
  std::uint64_t length;
  bool direct;
};
std::vector<Extent> extents;  // of the single-threaded tests

SystemCalls watched_calls() {
  SystemCalls calls = real_system_calls();
  calls.pwrite = [](int fd, const void* from, size_t bytes, off_t offset) {
    extents.push_back(
        {static_cast<std::uint64_t>(offset), bytes, (::fcntl(fd, F_GETFL) & O_DIRECT) != 0});
    return ::pwrite(fd, from, bytes, offset);
  };
  return calls;
}

/// Sizes and places where mistakes hide: around page boundaries, around the smallest direct write.
std::uint64_t awkward(std::mt19937_64& random, std::uint64_t below) {
  std::uint64_t value = random() % below;
  switch (random() % 4) {
    case 0:
      return value;
    case 1:
      return value / page * page;
    case 2:
      return std::min(below - 1, value / page * page + random() % 3);
    default:
      return std::max<std::uint64_t>(value / page * page, 1) - 1;
  }
}

/// The extents of one write() tile it, and the direct ones share no page with the buffered ones.
void check_extents(std::uint64_t offset, std::uint64_t length, std::uint64_t alignment) {
  std::uint64_t next = offset;
  for (const Extent& extent : extents) {
    EXPECT_EQ(extent.offset, next);
    next += extent.length;
    if (!extent.direct) continue;
    EXPECT_EQ(extent.offset % alignment, 0u);
    EXPECT_EQ(extent.length % alignment, 0u);
    for (const Extent& other : extents) {
      if (other.direct) continue;
      const std::uint64_t first_page = other.offset / page;
      const std::uint64_t last_page = (other.offset + other.length - 1) / page;
      EXPECT_TRUE(last_page < extent.offset / page ||
                  first_page >= (extent.offset + extent.length) / page);
    }
  }
  EXPECT_EQ(next, offset + length);
}

class RandomWrites : public testing::TestWithParam<int> {};

TEST_P(RandomWrites, EqualAReference) {
  Scratch scratch;
  const std::string path = scratch / "a";
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  auto storage = make_direct(watched_calls());
  std::unique_ptr<File> files[3] = {storage->open(path, Access::create),
                                    storage->open(path, Access::read_write),
                                    make_posix()->open(path, Access::read_write)};
  const std::uint64_t alignment = files[0]->alignment();
  if (GetParam() % 2 == 0) files[0]->preallocate(0, 3 << 20);

  constexpr std::uint64_t space = 6 << 20;  // more than one bounce buffer
  const auto source = random_bytes(space + 2 * page, 99);
  std::vector<std::byte> reference(files[0]->size());
  std::size_t direct_writes = 0;
  for (int i = 0; i < 200; ++i) {
    auto& file = files[random() % 3];
    const std::uint64_t offset = awkward(random, space);
    const std::uint64_t length =
        1 + awkward(random, i % 3 == 0 ? space : 300'000) % (space - offset);
    // Memory at any address, or at one that matches the offset.
    const std::uint64_t from =
        i % 2 == 0
            ? random() % (2 * page)
            : (page + offset % page - reinterpret_cast<std::uintptr_t>(source.data()) % page);
    const auto bytes = std::span(source).subspan(from, length);
    extents.clear();
    file->write(offset, bytes);
    if (&file != &files[2]) check_extents(offset, length, std::max<std::uint64_t>(alignment, 1));
    direct_writes +=
        std::count_if(extents.begin(), extents.end(), [](auto& e) { return e.direct; });
    if (reference.size() < offset + length) reference.resize(offset + length);
    std::copy(bytes.begin(), bytes.end(), reference.begin() + static_cast<std::ptrdiff_t>(offset));

    if (i % 5 == 0) files[random() % 3]->sync();
    if (i % 16 == 0) files[random() % 3]->drop_cache();
    if (i % 20 == 0) {  // cut the end off, and go on
      const std::uint64_t size = awkward(random, reference.size() + 1);
      files[random() % 3]->resize(size);
      reference.resize(size);
    }
    // The neighbourhood of the write, as another File sees it.
    const std::uint64_t first =
        std::min<std::uint64_t>(offset - std::min(offset, 2 * page), reference.size());
    std::vector<std::byte> got(length + 4 * page);
    got.resize(files[random() % 3]->read(first, got));
    ASSERT_EQ(got.size(), std::min<std::uint64_t>(length + 4 * page, reference.size() - first));
    ASSERT_TRUE(
        std::equal(got.begin(), got.end(), reference.begin() + static_cast<std::ptrdiff_t>(first)))
        << "write " << i << " of " << length << " bytes at " << offset;
  }
  EXPECT_TRUE(alignment == 1 || direct_writes > 20) << direct_writes;

  files[0]->sync();
  files[0]->drop_cache();  // from here on, what the disk holds
  std::vector<std::byte> got(reference.size());
  ASSERT_EQ(files[1]->read(0, got), got.size());
  EXPECT_EQ(files[1]->size(), reference.size());
  EXPECT_TRUE(got == reference);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWrites, testing::Range(1, 7));

// Writers on adjoining ranges at the same time share the pages between them, while a reader pulls
// those pages, and their neighbours, into the cache.
TEST(AdjoiningWriters, KeepEachOthersEdges) {
  for (int round = 0; round < 6; ++round) {
    Scratch scratch;
    const std::string path = scratch / "a";
    auto storage = make_direct();
    constexpr std::uint64_t space = 12'345'679;
    constexpr int writers = 4;
    std::mt19937_64 random(static_cast<std::uint64_t>(round) + 1);
    std::vector<std::uint64_t> cuts = {0, space};
    for (int i = 0; i < 60; ++i) cuts.push_back(random() % space);
    std::sort(cuts.begin(), cuts.end());
    const auto bytes = random_bytes(space, 5);
    auto first = storage->open(path, Access::create);
    if (round % 2 == 0) first->preallocate(0, space);

    std::atomic<bool> done = false;
    std::thread reader([&] {
      auto file = storage->open(path, Access::read);
      std::vector<std::byte> got(200'000);
      for (std::uint64_t at = 0; !done; at = (at + 777'777) % space) file->read(at, got);
    });
    std::vector<std::thread> threads;
    for (std::size_t writer = 0; writer < writers; ++writer) {
      threads.emplace_back([&, writer] {
        auto file = storage->open(path, Access::read_write);
        // Each its own pieces, dealt out in turn, half of the writers from the back.
        std::vector<std::size_t> mine;
        for (std::size_t i = writer; i + 1 < cuts.size(); i += writers) mine.push_back(i);
        if (writer % 2 == 1) std::reverse(mine.begin(), mine.end());
        for (const std::size_t i : mine) {
          file->write(cuts[i], std::span(bytes).subspan(cuts[i], cuts[i + 1] - cuts[i]));
        }
        file->sync();
      });
    }
    for (auto& thread : threads) thread.join();
    done = true;
    reader.join();

    std::vector<std::byte> got(space);
    ASSERT_EQ(first->read(0, got), space);
    EXPECT_TRUE(got == bytes) << "cached, round " << round;
    first->drop_cache();
    ASSERT_EQ(first->read(0, got), space);
    EXPECT_TRUE(got == bytes) << "on disk, round " << round;
    EXPECT_EQ(first->size(), space);
  }
}

}  // namespace
}  // namespace sluice::storage
