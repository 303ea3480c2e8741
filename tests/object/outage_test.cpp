// A store that is away: the error comes by the deadline, however many objects are to be sent.
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "object/small_store.hpp"
#include "storage/object/object_storage.hpp"
#include "support/errors.hpp"

namespace sluice {
namespace {

using Request = test::SmallStore::Request;

constexpr double deadline_s = 2;
/// The share of a call's time for which requests are tried again.
constexpr double share = 0.7;
constexpr const char* manifest = "s3://out/run.zarr/zarr.json";

class Outage : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_curl()) {
      GTEST_SKIP() << "no libcurl";
    }
    store_.use();
    storage_ = std::make_unique<storage::ObjectStorage>(
        "s3://out/run.zarr", storage::ObjectStorageOptions{deadline_s / share});
  }
  /// Every request of `method` is answered with `status`; empty: every one.
  void answer(const std::string& method, int status) {
    store_.fail([method, status](Request& request) {
      return method.empty() || request.method == method ? status : 0;
    });
  }
  /// How long a call takes that fails.
  template <class Call>
  static double failing_s(Call&& call) {
    const auto began = std::chrono::steady_clock::now();
    test::thrown_by(call);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  const std::vector<std::byte> bytes_ = std::vector<std::byte>(100);
  test::SmallStore store_;
  std::unique_ptr<storage::ObjectStorage> storage_;
};

TEST_F(Outage, ObjectsAreNotTriedOneAfterTheOther) {
  constexpr int objects = 40;
  const auto key = [](int i) { return "/run.zarr/x/c." + std::to_string(i); };
  for (int i = 0; i < objects; ++i) {  // in part: all are sent at the end
    storage_->open_version("s3://out" + key(i), 1, 2 * bytes_.size())->write(0, bytes_);
  }
  answer("", 503);
  EXPECT_LT(failing_s([&] { storage_->finish(); }), 2 * deadline_s);
  int tried = 0;
  for (int i = 0; i < objects; ++i) {
    tried += store_.count("PUT", "/out" + key(i)) != 0 ? 1 : 0;
  }
  EXPECT_LE(tried, 8);  // as many as at a time
  storage_->discard();
}

TEST_F(Outage, AnUploadInPartsIsAbortedInLittleTime) {
  storage::Bucket bucket("out", "s3://out/run.zarr", {deadline_s});
  store_.fail([](Request& request) { return request.method == "POST" ? 0 : 503; });
  const std::vector<std::byte> bytes(20);
  EXPECT_LT(failing_s([&] { storage::send_object(bucket, "x", bytes, 2); }), 1.6 * deadline_s);
  EXPECT_GT(store_.count("DELETE", "/out/x?uploadId=1"), 0);
  EXPECT_EQ(store_.count("PUT", "/out/x?partNumber=10&uploadId=1"), 0);
}

/// It answers every request just before that would be given up.
TEST_F(Outage, AStoreThatIsBackNowAndThenIsNotWaitedForForEver) {
  storage::Bucket bucket("out", "s3://out/run.zarr", {deadline_s});
  std::map<std::string, std::chrono::steady_clock::time_point> first;
  store_.fail([&](Request& request) {
    const auto now = std::chrono::steady_clock::now();
    const auto began = first.try_emplace(request.path, now).first->second;
    return now - began < std::chrono::duration<double>(0.35 * deadline_s) ? 503 : 0;
  });
  const auto put_some = [&] {
    for (int i = 0; i < 8; ++i) bucket.put("c." + std::to_string(i), bytes_);
  };
  EXPECT_LT(failing_s(put_some), 1.6 * deadline_s);
  EXPECT_TRUE(store_.has("/out/c.0"));  // a store that was away once is waited for
}

TEST_F(Outage, ACommitThatFailsIsLookedUpInLittleTime) {
  answer("", 503);
  bool in_doubt = false;
  EXPECT_LT(failing_s([&] { storage_->replace(manifest, bytes_, 1, in_doubt); }), 1.4 * deadline_s);
  EXPECT_TRUE(in_doubt);
}

/// What the former writer committed before it let the lease go is what the next commit replaces.
TEST_F(Outage, WhatWasReadBeforeTheLeaseIsForgotten) {
  store_.set("/out/run.zarr/zarr.json", "first");
  storage_->open(manifest, storage::Access::read);
  store_.set("/out/run.zarr/zarr.json", "second");
  const auto lease = storage_->lease("s3://out/run.zarr");
  storage_->open(manifest, storage::Access::read);
  bool in_doubt = false;
  storage_->replace(manifest, bytes_, 1, in_doubt);
}

/// Whether a put that fails with `status` may have been carried out, or be so later.
TEST_F(Outage, ACommitWithoutAnAnswerIsInDoubt) {
  for (const bool is_first : {true, false}) {
    if (!is_first) {
      answer("", 0);
      bool in_doubt = false;
      storage_->replace(manifest, bytes_, 1, in_doubt);
    }
    for (const auto& [status, expected] : {std::pair(-1, true), {504, true}, {503, false}}) {
      answer("PUT", status);
      bool in_doubt = false;
      failing_s([&] { storage_->replace(manifest, bytes_, 1, in_doubt); });
      EXPECT_EQ(in_doubt, expected) << status << (is_first ? ", the first" : "");
    }
  }
}

}  // namespace
}  // namespace sluice
