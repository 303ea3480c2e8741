// Answers of object stores that are not as they should be are errors, and nothing is lost by them.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "object/small_store.hpp"
#include "sluice/error.hpp"
#include "storage/object/bucket.hpp"
#include "storage/object/curl_library.hpp"
#include "storage/object/http.hpp"
#include "storage/object/object_storage.hpp"
#include "support/errors.hpp"

namespace sluice {
namespace {

using Kind = storage::PutCondition::Kind;
using Request = test::SmallStore::Request;

constexpr const char* object = "/b/run.zarr/o";

class ObjectAnswers : public testing::Test {
 protected:
  void SetUp() override {
    try {
      storage::require_curl("s3://b/run.zarr");
    } catch (const Error&) {
      GTEST_SKIP() << "no libcurl";
    }
    store_.use();
    bucket_ = std::make_unique<storage::Bucket>("b", "s3://b/run.zarr", storage::BucketOptions{1});
  }
  void TearDown() override { bucket_.reset(); }

  std::string put(const storage::PutCondition& condition, const std::string& commit) {
    return bucket_->put("run.zarr/o", std::vector<std::byte>(10), condition, {0, commit});
  }
  /// Takes the line of the header away.
  static void drop(std::string& answer, const std::string& header) {
    const std::size_t at = answer.find("\r\n" + header + ": ");
    if (at != std::string::npos) answer.erase(at, answer.find("\r\n", at + 2) - at);
  }

  test::SmallStore store_;
  std::unique_ptr<storage::Bucket> bucket_;
};

TEST_F(ObjectAnswers, APutWithoutAnEtagIsLookedUp) {
  store_.change_answers([](const Request& request, std::string& answer) {
    if (request.method == "PUT") drop(answer, "ETag");
  });
  const std::string first = put({Kind::absent, ""}, "one");
  EXPECT_FALSE(first.empty());
  const std::string second = put({Kind::same, first}, "two");
  store_.set(object, "of another");
  EXPECT_EQ(test::thrown_by([&] { put({Kind::same, second}, "three"); }).code(), Code::locked);
  EXPECT_EQ(store_.content(object), "of another");
}

TEST_F(ObjectAnswers, APutWhoseEtagIsUnknownIsAnError) {
  store_.change_answers([](const Request&, std::string& answer) { drop(answer, "ETag"); });
  const Error error = test::thrown_by([&] { put({Kind::absent, ""}, "one"); });
  test::expect_error(error, Code::unsupported, {"s3://b/run.zarr/o: write failed", "no etags"});
  const int before = store_.count("PUT", object);
  EXPECT_EQ(test::thrown_by([&] { put({Kind::same, ""}, "two"); }).code(), Code::unsupported);
  EXPECT_EQ(store_.count("PUT", object), before);
  EXPECT_EQ(put({}, ""), "");  // no condition: nobody needs it
}

TEST_F(ObjectAnswers, ALookUpWithoutALengthIsNoEmptyObject) {
  std::string range = "0-0/10";
  store_.set(object, "0123456789");
  store_.change_answers([&](const Request& request, std::string& answer) {
    if (request.method == "HEAD") drop(answer, "Content-Length");
    if (request.method == "GET") {
      answer =
          "HTTP/1.1 206 Told\r\nContent-Range: bytes " + range + "\r\nContent-Length: 1\r\n\r\n0";
    }
  });
  EXPECT_EQ(bucket_->head("run.zarr/o")->bytes, 10U);
  range = "0-0/*";
  const Error error = test::thrown_by([&] { bucket_->head("run.zarr/o"); });
  test::expect_error(error, Code::io, {"s3://b/run.zarr/o: look-up failed", "how long it is"});
}

/// A libcurl that cannot sign would send the secret instead.
TEST_F(ObjectAnswers, TheSecretIsGivenToALibcurlThatSignsOnly) {
  storage::Http http;
  storage::HttpRequest request;
  request.url = std::string(std::getenv("AWS_ENDPOINT_URL")) + "/b/o";
  request.timeout_s = 4;
  const std::string refused(9 << 20, 'a');  // longer than libcurl takes
  const Error error = test::thrown_by([&] { http.perform(request, {refused, "key:secret"}); });
  test::expect_error(error, Code::unsupported, {"libcurl cannot sign requests", "AWS_SIGV4"});
  EXPECT_EQ(store_.count("GET", "/b/o"), 0);
}

}  // namespace
}  // namespace sluice
