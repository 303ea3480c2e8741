// Objects that are looked up, and read, several at a time.
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "object/small_store.hpp"
#include "sluice/error.hpp"
#include "storage/object/object_storage.hpp"
#include "support/errors.hpp"

namespace sluice {
namespace {

constexpr int objects = 20;
constexpr std::size_t object_bytes = 10;

std::string name_of(int i) { return "bbb/run.zarr/x/c." + std::to_string(i); }
std::string path_of(int i) { return "s3://" + name_of(i); }
std::string text_of(int i) { return std::string(object_bytes, static_cast<char>('a' + i)); }

class ReadAhead : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_curl()) {
      GTEST_SKIP() << "no libcurl";
    }
    store_.use();
    for (int i = 0; i < objects; ++i) {
      store_.set("/" + name_of(i), text_of(i));
    }
    open(1 << 20);
  }
  void open(std::uint64_t budget_bytes) {
    storage_ = std::make_unique<storage::ObjectStorage>(
        "s3://bbb/run.zarr", storage::ObjectStorageOptions{2, budget_bytes});
  }
  std::shared_ptr<void> tell() {
    std::vector<storage::ObjectRange> ranges;
    for (int i = 0; i < objects; ++i) {
      ranges.push_back({path_of(i), {0, object_bytes}});
    }
    return storage_->will_read(std::move(ranges));
  }
  std::string read(int i) {
    std::string text(object_bytes, ' ');
    const auto bytes = std::as_writable_bytes(std::span(text));
    text.resize(storage_->open_unseen(path_of(i))->read(0, bytes));
    return text;
  }
  int gets() {
    int all = 0;
    for (int i = 0; i < objects; ++i) all += store_.count("GET", "/" + name_of(i));
    return all;
  }
  /// Waits until there are so many; false: there are not for a long time.
  bool come(int wanted) {
    using namespace std::chrono_literals;
    for (int i = 0; i < 1000 && gets() < wanted; ++i) std::this_thread::sleep_for(10ms);
    return gets() >= wanted;
  }

  test::SmallStore store_;
  std::unique_ptr<storage::ObjectStorage> storage_;
};

TEST_F(ReadAhead, EveryObjectIsReadOnce) {
  const auto told = tell();
  EXPECT_TRUE(come(objects));  // though nobody has asked yet
  for (int i = 0; i < objects; ++i) {
    EXPECT_EQ(read(i), text_of(i));
  }
  EXPECT_EQ(gets(), objects);
}

TEST_F(ReadAhead, NoMoreIsHeldThanMayBe) {
  constexpr int most = 3;
  open(4 * most * object_bytes);
  const auto told = tell();
  EXPECT_TRUE(come(most));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(gets(), most);
  EXPECT_EQ(read(0), text_of(0));
  EXPECT_TRUE(come(most + 1));
  for (int i = objects - 1; i > 0; --i) {  // in another order than was told
    EXPECT_EQ(read(i), text_of(i));
  }
}

TEST_F(ReadAhead, WhatIsNotWantedAnyMoreIsReadAnew) {
  auto told = tell();
  EXPECT_TRUE(come(objects));
  told.reset();
  store_.set("/" + name_of(0), text_of(7));
  EXPECT_EQ(read(0), text_of(7));
}

TEST_F(ReadAhead, AFailureIsThatOfWhoAsksForIt) {
  store_.fail([](test::SmallStore::Request& request) {
    return request.path == "/" + name_of(3) ? 404 : 0;
  });
  const auto told = tell();
  for (int i = 0; i < objects; ++i) {
    if (i == 3) {
      const Error error = test::thrown_by([&] { read(i); });
      test::expect_error(error, Code::not_found, {path_of(3) + ": read failed"});
    } else {
      EXPECT_EQ(read(i), text_of(i));
    }
  }
}

TEST_F(ReadAhead, SizesTakeOneLookUpEach) {
  std::vector<std::string> paths;
  for (int i = 0; i <= objects; ++i) {
    paths.push_back(path_of(i));  // and one that is not there
  }
  const storage::Sizes sizes = storage_->sizes_of(paths);
  for (int i = 0; i <= objects; ++i) {
    EXPECT_EQ(sizes[i], i < objects ? std::optional<std::uint64_t>(object_bytes) : std::nullopt);
    EXPECT_EQ(store_.count("HEAD", "/" + name_of(i)), 1);
  }
}

}  // namespace
}  // namespace sluice
