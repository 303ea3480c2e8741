// A writer that could not renew its lease changes nothing until it knows that it still has it, and
// leaves no record behind that keeps others out.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "object/small_store.hpp"
#include "sluice/error.hpp"
#include "storage/object/object_storage.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;

constexpr const char* record = "/b/run.zarr.sluice-lease";
constexpr const char* below = "/b/run.zarr/x/c.0";

/// Objects of other writers: no process that this machine knows.
constexpr const char* record_of_another =
    "host far, process 1\nsluice-lease 1 00000000-0000-0000-0000-000000000000 1 1 1 file\n";

using Request = test::SmallStore::Request;

class ObjectLease : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_curl()) {
      GTEST_SKIP() << "no libcurl";
    }
    store_.use();
    bucket_ = std::make_unique<storage::Bucket>("b", "s3://b/run.zarr", storage::BucketOptions{4});
    lease_ = take();
    ASSERT_TRUE(has_conditions_);
  }
  void TearDown() override {
    store_.fail(nullptr);
    lease_.reset();
    bucket_.reset();
  }
  std::unique_ptr<storage::Lease> take(double stale_after_s = 0.5) {
    return storage::take_object_lease(*bucket_, "run.zarr", "s3://b/run.zarr", has_conditions_,
                                      {.renew_every_s = 0.05, .stale_after_s = stale_after_s});
  }
  /// The record of the lease gets an answer of 503 to every put.
  void stop_renewals() {
    store_.fail([](Request& request) {
      return request.method == "PUT" && request.path == record ? 503 : 0;
    });
  }
  template <class Condition>
  static bool comes_true(Condition&& condition) {
    for (int tries = 0; tries < 1000; ++tries) {
      if (condition()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  std::future<void> put(const std::string& key) {
    return std::async(std::launch::async, [this, key] {
      const std::vector<std::byte> bytes(10);
      bucket_->put(key, bytes);
    });
  }
  static Code code_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& e) {
      return e.code();
    }
    return Code::internal;
  }

  test::SmallStore store_;
  bool has_conditions_ = true;
  std::unique_ptr<storage::Bucket> bucket_;
  std::unique_ptr<storage::Lease> lease_;
};

TEST_F(ObjectLease, NothingIsSentUntilItIsRenewed) {
  put("run.zarr/x/c.0").get();
  EXPECT_EQ(store_.count("PUT", below), 1);
  stop_renewals();
  std::this_thread::sleep_for(800ms);
  auto waiting = put("run.zarr/x/c.0");
  put("other.zarr/x/c.0").get();  // of no lease
  std::this_thread::sleep_for(400ms);
  EXPECT_EQ(store_.count("PUT", below), 1);
  store_.fail(nullptr);
  waiting.get();
  EXPECT_EQ(store_.count("PUT", below), 2);
  lease_->check();
}

TEST_F(ObjectLease, ACheckWaitsForARenewalUntilTheDeadline) {
  stop_renewals();
  std::this_thread::sleep_for(800ms);
  EXPECT_EQ(code_of([&] { lease_->check(); }), Code::io);
  auto checking = std::async(std::launch::async, [&] { lease_->check(); });
  std::this_thread::sleep_for(100ms);
  store_.fail(nullptr);
  checking.get();
}

TEST_F(ObjectLease, OneThatIsLostIsSoForGood) {
  store_.set(record, record_of_another);
  for (int tries = 0; tries < 3000 && code_of([&] { lease_->check(); }) != Code::locked; ++tries) {
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_EQ(code_of([&] { lease_->check(); }), Code::locked);
  EXPECT_EQ(code_of([&] { put("run.zarr/x/c.0").get(); }), Code::locked);
  EXPECT_EQ(store_.count("PUT", below), 0);
}

/// The answer to a renewal that arrived is lost, and then the record cannot be read.
TEST_F(ObjectLease, ARecordThatCannotBeReadIsNotAnothers) {
  std::atomic<int> refused = 0;
  std::atomic<bool> is_over = false;
  bool has_lost = false;
  store_.fail([&](Request& request) {
    if (is_over || request.path != record) return 0;
    if (request.method == "PUT" && !has_lost) {
      has_lost = true;
      request.is_done = true;
      return 503;
    }
    if (request.method != "GET") return 0;
    ++refused;
    return 403;
  });
  EXPECT_TRUE(comes_true([&] { return refused > 2; }));
  // Nothing is committed while the lease may have expired.
  std::this_thread::sleep_for(600ms);
  auto waiting = put("run.zarr/x/c.0");
  EXPECT_EQ(waiting.wait_for(300ms), std::future_status::timeout);
  EXPECT_EQ(store_.count("PUT", below), 0);
  is_over = true;
  waiting.get();
  lease_->check();
  lease_.reset();
  EXPECT_FALSE(store_.has(record));
  lease_ = take();
}

TEST_F(ObjectLease, ARecordIsNotLeftByAnOpeningThatFails) {
  lease_.reset();
  // The put that makes it, or the one that tries whether the store looks at conditions.
  for (const int failing : {1, 2}) {
    int puts = 0;
    store_.fail([&](Request& request) {
      if (request.method != "PUT" || request.path != record || ++puts != failing) return 0;
      request.is_done = true;
      return 403;
    });
    EXPECT_EQ(code_of([&] { take(); }), Code::permission) << failing;
    store_.fail(nullptr);
    EXPECT_EQ(puts, failing);
    EXPECT_FALSE(store_.has(record)) << failing;
  }
}

/// Nor may it be removed: this process knows by its number that nobody holds it.
TEST_F(ObjectLease, ARecordThatWasLeftKeepsItsProcessNotOut) {
  lease_.reset();
  int puts = 0;
  store_.fail([&](Request& request) {
    return request.method == "DELETE" || (request.method == "PUT" && ++puts == 2) ? 403 : 0;
  });
  EXPECT_EQ(code_of([&] { take(); }), Code::permission);
  EXPECT_TRUE(store_.has(record));
  store_.fail(nullptr);
  lease_ = take();
  EXPECT_EQ(code_of([&] { take(); }), Code::locked) << "one that is held";
  lease_->check();
}

TEST_F(ObjectLease, AStoreThatDropsNumbersKeepsTwoOfAProcessApart) {
  lease_.reset();
  store_.drop_numbers();
  lease_ = take();
  EXPECT_EQ(code_of([&] { take(); }), Code::locked);
  store_.fail(
      [](Request& request) { return request.method == "PUT" && request.path == record ? 403 : 0; });
  EXPECT_EQ(code_of([&] { take(); }), Code::permission);
  store_.fail(nullptr);
  EXPECT_TRUE(store_.has(record)) << "of the first one";
  lease_->check();
  lease_.reset();
  EXPECT_FALSE(store_.has(record));
  lease_ = take();
}

/// It looks at If-None-Match only, and ignores If-Match or does not know it.
TEST_F(ObjectLease, AStoreWithHalfOfTheConditionsHasNone) {
  for (const int answer : {0, 501}) {
    lease_.reset();
    has_conditions_ = true;
    store_.fail([answer](Request& request) {
      const std::size_t at = request.head.find("if-match: ");
      if (at == std::string::npos) return 0;
      request.head.erase(at, request.head.find("\r\n", at) + 2 - at);
      return answer;
    });
    lease_ = take();
    EXPECT_FALSE(has_conditions_) << answer;
    EXPECT_NE(lease_->notice(), "") << answer;
    std::this_thread::sleep_for(200ms);
    lease_->check();
  }
}

/// It says of another etag that there is no such object, and not that the condition fails.
TEST_F(ObjectLease, AStoreThatFindsNothingToReplaceHasConditions) {
  lease_.reset();
  store_.fail([](Request& request) {
    const bool has_etag_of_none =
        request.head.find("\"00000000000000000000000000000000\"") != std::string::npos;
    return has_etag_of_none ? 404 : 0;
  });
  lease_ = take();
  EXPECT_TRUE(has_conditions_);
  EXPECT_EQ(lease_->notice(), "");
  lease_->check();
}

TEST_F(ObjectLease, NothingIsRemovedOnceAnotherMayHaveTakenItOver) {
  stop_renewals();
  std::this_thread::sleep_for(800ms);
  const int before = store_.count("DELETE", record);
  lease_.reset();
  EXPECT_EQ(store_.count("DELETE", record), before);
  EXPECT_TRUE(store_.has(record));
  store_.fail(nullptr);
  lease_ = take();
}

TEST_F(ObjectLease, ARemovalIsTriedNoLongerThanTheLeaseLasts) {
  store_.fail([](Request& request) { return request.method == "DELETE" ? 503 : 0; });
  const auto began = std::chrono::steady_clock::now();
  lease_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 1s);  // and not for the 4 s of a request
  EXPECT_GT(store_.count("DELETE", record), 0);
  store_.fail(nullptr);
  lease_ = take();
}

TEST_F(ObjectLease, ACloseDoesNotWaitForARenewalForAsLongAsARequestIsTried) {
  stop_renewals();
  const int before = store_.count("PUT", record);
  ASSERT_TRUE(comes_true([&] { return store_.count("PUT", record) > before + 1; }));
  const auto began = std::chrono::steady_clock::now();
  lease_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 1500ms);
  store_.fail(nullptr);
  lease_ = take();
}

}  // namespace
}  // namespace sluice
