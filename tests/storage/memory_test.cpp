// What the file system in memory does beyond what every storage does: folders, copies, determinism.
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "storage/scratch.hpp"
#include "support/memory_storage.hpp"

namespace sluice::storage {
namespace {

using Names = std::vector<std::string>;

TEST(Memory, FoldersAreImplied) {
  auto storage = make_memory();
  storage->put("a/b/c", bytes_of("x"));
  storage->put("./a//b/../d", bytes_of("y"));
  EXPECT_EQ(storage->paths(), (Names{"a/b/c", "a/d"}));
  EXPECT_TRUE(storage->exists("a/b"));
  EXPECT_TRUE(storage->exists("."));
  storage->remove("a/b/c");
  EXPECT_FALSE(storage->exists("a/b"));
}

TEST(Memory, FoldersMoveWithWhatTheyHold) {
  auto storage = make_memory();
  storage->put("a/b/c", bytes_of("x"));
  storage->put("a/d", bytes_of("y"));
  storage->put("ab", bytes_of("z"));
  auto file = storage->open("a/d", Access::read_write);
  storage->rename("a", "moved/here");
  EXPECT_EQ(storage->paths(), (Names{"ab", "moved/here/b/c", "moved/here/d"}));
  file->write(0, bytes_of("Y"));
  EXPECT_EQ(text_of(storage->contents("moved/here/d")), "Y");
}

TEST(Memory, RenamesThatPosixRefusesAreRefused) {
  auto storage = make_memory();
  storage->put("a/b", bytes_of("x"));
  storage->put("c/d", bytes_of("y"));
  storage->put("file", bytes_of("z"));
  EXPECT_EQ(error_of([&] { storage->rename("a", "c"); }).code(), Code::io);         // not empty
  EXPECT_EQ(error_of([&] { storage->rename("a", "a/deeper"); }).code(), Code::io);  // into itself
  EXPECT_EQ(error_of([&] { storage->rename("a", "file"); }).code(), Code::io);
  EXPECT_EQ(error_of([&] { storage->rename("file", "a"); }).code(), Code::io);
  EXPECT_EQ(error_of([&] { storage->rename("a/b", "file/b"); }).code(), Code::io);
  EXPECT_EQ(error_of([&] { storage->rename("none", "x"); }).code(), Code::not_found);
  EXPECT_EQ(storage->paths(), (Names{"a/b", "c/d", "file"}));
}

TEST(Memory, ClonesAreIndependent) {
  auto storage = make_memory();
  const auto bytes = random_bytes(100'000, 1);
  storage->put("a", bytes);
  auto copy = storage->clone();
  auto here = storage->open("a", Access::read_write);
  auto there = copy->open("a", Access::read_write);
  here->write(5'000, bytes_of("here"));
  there->resize(50'000);
  there->write(5'002, bytes_of("there"));
  copy->put("b", bytes_of("only there"));
  auto expected_here = bytes;
  auto expected_there = bytes;
  expected_there.resize(50'000);
  std::copy_n(bytes_of("here").begin(), 4, expected_here.begin() + 5'000);
  std::copy_n(bytes_of("there").begin(), 5, expected_there.begin() + 5'002);
  EXPECT_TRUE(storage->contents("a") == expected_here);
  EXPECT_TRUE(copy->contents("a") == expected_there);
  EXPECT_FALSE(storage->exists("b"));
}

TEST(Memory, ClonesMayBeWrittenAtTheSameTime) {
  auto storage = make_memory();
  storage->put("a", random_bytes(400'000, 1));
  std::vector<std::shared_ptr<MemoryStorage>> copies;
  for (int i = 0; i < 4; ++i) copies.push_back(storage->clone());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    threads.emplace_back([&, i] {
      auto file = copies[i]->open("a", Access::read_write);
      for (std::uint64_t at = 0; at < 400'000; at += 1'000) file->write(at, random_bytes(10, i));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(storage->contents("a") == random_bytes(400'000, 1));
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto got = copies[i]->contents("a");
    for (std::size_t at = 0; at < got.size(); at += 1'000) {
      ASSERT_TRUE(std::equal(got.begin() + static_cast<std::ptrdiff_t>(at),
                             got.begin() + static_cast<std::ptrdiff_t>(at + 10),
                             random_bytes(10, i).begin()));
    }
  }
}

TEST(Memory, TimesCountChanges) {
  const auto run = [] {
    auto storage = make_memory();
    auto a = storage->open("a", Access::create);
    auto b = storage->open("b", Access::create);
    a->write(0, bytes_of("x"));
    b->resize(10);
    a->write(0, bytes_of("y"));
    return std::pair(a->modified_ns(), b->modified_ns());
  };
  EXPECT_EQ(run(), run());
  EXPECT_GT(run().first, run().second);
}

TEST(Memory, PretendsWhatItIsTold) {
  auto storage = make_memory({.alignment = 4096, .stripe_bytes = 1 << 20});
  EXPECT_EQ(storage->open("a", Access::create)->alignment(), 4096u);
  EXPECT_EQ(storage->file_system("a").stripe_bytes, 1u << 20);
  EXPECT_EQ(make_memory()->open("a", Access::create)->alignment(), 1u);
}

TEST(Memory, FilesOutliveTheirStorage) {
  auto storage = make_memory();
  auto file = storage->open("a", Access::create);
  storage.reset();
  file->write(0, bytes_of("x"));
  EXPECT_EQ(file->size(), 1u);
}

}  // namespace
}  // namespace sluice::storage
