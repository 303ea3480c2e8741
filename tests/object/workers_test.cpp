// Requests are carried out though the system gives no threads, or fewer than asked for; and what is
// uploaded then fails or succeeds, but does not wait for ever. What was sent in part is known.
#include "storage/object/workers.hpp"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "object/small_store.hpp"
#include "sluice/error.hpp"
#include "storage/object/uploads.hpp"
#include "support/errors.hpp"
#include "support/few_threads.hpp"

namespace sluice::storage {
namespace {

TEST(Workers, DoWithoutTheThreadsThatCannotBeHad) {
  for (const int threads : {0, 1, 100}) {
    Workers workers(4);
    threads_left = threads;
    std::vector<int> done(50);
    workers.for_each(done.size(), [&](std::size_t i) { ++done[i]; });
    EXPECT_EQ(done, std::vector<int>(50, 1)) << threads << " threads";
    EXPECT_THROW(workers.for_each(3, [](std::size_t) { throw std::runtime_error("no"); }),
                 std::runtime_error);
    threads_left = 1000;
  }
}

TEST(Workers, BeginNothingAfterAFailure) {
  for (const int threads : {0, 1}) {
    Workers workers(1);
    threads_left = threads;
    int begun = 0;
    const auto fail = [&](std::size_t) {
      ++begun;
      throw std::runtime_error("no");
    };
    EXPECT_THROW(workers.for_each(50, fail), std::runtime_error);
    EXPECT_EQ(begun, 1) << threads << " threads";
    threads_left = 1000;
  }
}

TEST(Uploads, AFailureIsToldThoughThereIsNoThread) {
  ::setenv("AWS_ACCESS_KEY_ID", "id", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "key", 1);
  ::setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9", 1);  // nobody listens
  Bucket bucket("bucket", "s3://bucket/store", {0.2});
  Workers workers(2);
  Uploads uploads(bucket, workers, {});
  threads_left = 0;
  const std::vector<std::byte> bytes(100);
  uploads.begin("whole", 1, bytes.size());
  uploads.write("whole", 0, bytes);
  EXPECT_NE(test::thrown_by([&] { uploads.finish(); }).code(), Code::ok);
  threads_left = 1000;
  uploads.discard();
  uploads.begin("part", 2, 2 * bytes.size());
  uploads.write("part", 0, bytes);
  threads_left = 0;
  EXPECT_NE(test::thrown_by([&] { uploads.finish(); }).code(), Code::ok);
  threads_left = 1000;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// Of an object that was sent before it was whole, the rest comes to what was sent: however many
/// others came between.
TEST(Uploads, WhatWasSentInPartIsNotForgotten) {
  if (!test::has_curl()) {
    GTEST_SKIP() << "no libcurl";
  }
  test::SmallStore store;
  store.use();
  Bucket bucket("b", "s3://b/run.zarr", {4});
  Workers workers(2);
  Uploads uploads(bucket, workers, {.held_bytes = 16, .known = 4});
  uploads.begin("part", 1, 10);
  uploads.write("part", 0, bytes_of("first"));
  for (int i = 0; i < 20; ++i) {
    const std::string key = "whole" + std::to_string(i);
    uploads.begin(key, 2 + static_cast<std::uint64_t>(i), 10);
    uploads.write(key, 0, bytes_of("0123456789"));
    uploads.finish();
  }
  EXPECT_EQ(store.content("/b/part"), std::string("first\0\0\0\0\0", 10));
  uploads.begin("part", 1, 10);
  uploads.write("part", 5, bytes_of("other"));
  uploads.finish();
  EXPECT_EQ(store.content("/b/part"), "firstother");
}

}  // namespace
}  // namespace sluice::storage
