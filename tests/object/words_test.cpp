// The words of object stores: addresses, answers in XML, when to ask again, errors.
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "object/small_store.hpp"
#include "sluice/error.hpp"
#include "storage/object/backoff.hpp"
#include "storage/object/bucket.hpp"
#include "storage/object/object_errors.hpp"
#include "storage/object/patience.hpp"
#include "storage/object/xml.hpp"
#include "storage/storage.hpp"
#include "support/errors.hpp"

namespace sluice {
namespace {

using storage::HttpAnswer;

TEST(ObjectWords, AddressesHaveABucketAndAKey) {
  EXPECT_TRUE(storage::is_object_path("s3://b"));
  EXPECT_FALSE(storage::is_object_path("/s3://b"));
  const auto parsed = storage::parse_object_path("s3://my.bucket-1/a/b.zarr/");
  EXPECT_EQ(parsed.bucket, "my.bucket-1");
  EXPECT_EQ(parsed.key, "a/b.zarr");
  for (const char* wrong : {"s3://", "s3://B/x", "s3://ab/x", "s3://a_b/x", "s3://abc//x",
                            "s3://abc/x//y", "s3://a\nbc/x"}) {
    EXPECT_THROW(storage::parse_object_path(wrong), Error) << wrong;
  }
}

TEST(ObjectWords, KeysAreEncodedOnce) {
  EXPECT_EQ(storage::url_encoded("a b/c+d%\xc3\xa9", "/"), "a%20b/c%2Bd%25%C3%A9");
}

TEST(ObjectWords, XmlElementsAndEntities) {
  const std::string text =
      "<R><Contents><Key>a&amp;b</Key></Contents><Contents><Key>c&#x41;</Key></Contents>"
      "<ContentsOfAnother>x</ContentsOfAnother><IsTruncated>true</IsTruncated></R>";
  const auto entries = storage::xml_elements(text, "Contents");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(storage::xml_text(entries[0], "Key"), "a&b");
  EXPECT_EQ(storage::xml_text(entries[1], "Key"), "cA");
  EXPECT_EQ(storage::xml_text(text, "Missing"), "");
  EXPECT_EQ(storage::xml_text("<A\n  xmlns=\"x\">b</A>", "A"), "b");
  EXPECT_TRUE(storage::xml_elements("<A><A", "A").empty());
  EXPECT_TRUE(storage::xml_elements("</A><A>", "A").empty());
}

TEST(ObjectWords, WaitsGrowAndEnd) {
  storage::BackoffLimits limits;
  limits.first_s = 1;
  limits.most_s = 4;
  limits.deadline_s = 100;
  storage::Backoff backoff(limits);
  EXPECT_DOUBLE_EQ(*backoff.next(0, 0), 0.5);
  EXPECT_DOUBLE_EQ(*backoff.next(0, 0), 1);
  EXPECT_DOUBLE_EQ(*backoff.next(0, 0.5), 3);
  EXPECT_DOUBLE_EQ(*backoff.next(0, 0), 2);
  EXPECT_FALSE(backoff.next(99, 0).has_value());  // beyond the deadline
}

TEST(ObjectWords, PatienceComesBackAsTimePassesWithoutAWait) {
  storage::Patience patience(10);
  EXPECT_DOUBLE_EQ(patience.left_s(100), 10);
  patience.begin_wait(100, 104);
  patience.begin_wait(102, 105);  // at the same time: it counts once
  EXPECT_DOUBLE_EQ(patience.left_s(106), 4);
  patience.end_wait(107);
  patience.end_wait(108);
  EXPECT_DOUBLE_EQ(patience.left_s(108), 2);
  EXPECT_DOUBLE_EQ(patience.left_s(109), 3);
  patience.begin_wait(109, 112);
  EXPECT_DOUBLE_EQ(patience.left_s(112), 0);
  patience.end_wait(112);
  EXPECT_DOUBLE_EQ(patience.left_s(200), 10);
}

/// An hour of tries, as with `timeout_s` of an hour and a half: their number ends nothing.
TEST(ObjectWords, TheDeadlineAloneEndsTheTries) {
  storage::BackoffLimits limits;
  limits.deadline_s = 3780;
  storage::Backoff backoff(limits);
  double elapsed_s = 0;
  while (elapsed_s < 3600) {
    const auto wait_s = backoff.next(elapsed_s, 0.5);
    ASSERT_TRUE(wait_s.has_value()) << "after " << elapsed_s << " s";
    EXPECT_LE(*wait_s, limits.most_s);
    elapsed_s += *wait_s;
  }
  EXPECT_GT(backoff.tries(), 360);
  EXPECT_FALSE(backoff.next(3779, 0).has_value());
}

HttpAnswer answer(long status, const std::string& code) {
  HttpAnswer made;
  made.status = status;
  made.is_whole = true;
  made.text = "<Error><Code>" + code + "</Code><Message>secret of the server</Message></Error>";
  return made;
}

Error error_of(const HttpAnswer& made, bool is_conditional = false) {
  return storage::object_error({"s3://b/k", "write", "b", "us-east-1", is_conditional, 3, 12},
                               made);
}

TEST(ObjectWords, OnlyWhatMayPassIsTriedAgain) {
  EXPECT_TRUE(storage::may_try_again(answer(500, "InternalError")));
  EXPECT_TRUE(storage::may_try_again(answer(503, "SlowDown")));
  EXPECT_TRUE(storage::may_try_again(answer(429, "")));
  EXPECT_TRUE(storage::may_try_again(HttpAnswer{}));
  EXPECT_FALSE(storage::may_try_again(answer(501, "NotImplemented")));
  EXPECT_FALSE(storage::may_try_again(answer(403, "AccessDenied")));
  EXPECT_FALSE(storage::may_try_again(answer(404, "NoSuchKey")));
  EXPECT_FALSE(storage::may_try_again(answer(412, "PreconditionFailed")));
  EXPECT_TRUE(storage::may_try_again(answer(200, "InternalError")));
  EXPECT_TRUE(storage::may_try_again(answer(200, "SlowDown")));
  EXPECT_FALSE(storage::may_try_again(answer(200, "AccessDenied")));
}

TEST(ObjectWords, WhatCannotPassIsTriedOnce) {
  if (!test::has_curl()) {
    GTEST_SKIP() << "no libcurl";
  }
  test::SmallStore store;
  store.use();
  store.set("/out/long", "more than was asked for");
  std::array<std::byte, 4> some{};
  constexpr double deadline_s = 3;
  storage::Bucket bucket("out", "s3://out/run.zarr", storage::BucketOptions{deadline_s});
  test::thrown_by([&] { bucket.get("long", 0, some); });
  EXPECT_EQ(store.count("GET", "/out/long"), 1);
  for (const char* endpoint : {"http://127.0.0.1:99999", "http://no such host"}) {
    ::setenv("AWS_ENDPOINT_URL", endpoint, 1);
    storage::Bucket nowhere("out", "s3://out/run.zarr", storage::BucketOptions{deadline_s});
    EXPECT_EQ(test::thrown_by([&] { nowhere.head("x"); }).code(), Code::io) << endpoint;
    EXPECT_LE(nowhere.requests(), 1U) << endpoint;
  }
}

TEST(ObjectWords, ErrorsSayWhatToDo) {
  EXPECT_EQ(error_of(answer(404, "NoSuchBucket")).code(), Code::not_found);
  EXPECT_EQ(error_of(answer(403, "AccessDenied")).code(), Code::permission);
  EXPECT_EQ(error_of(answer(400, "ExpiredToken")).code(), Code::permission);
  EXPECT_EQ(error_of(answer(507, "")).code(), Code::no_space);
  EXPECT_EQ(error_of(answer(412, "PreconditionFailed"), true).code(), Code::locked);
  EXPECT_EQ(error_of(answer(501, "NotImplemented"), true).code(), Code::unsupported);
  const std::string text = error_of(answer(503, "SlowDown")).what();
  EXPECT_EQ(text.rfind("s3://b/k: write failed after 3 tries in 12 s: 503 SlowDown: ", 0), 0U)
      << text;
  for (const char* code : {"AccessDenied", "SignatureDoesNotMatch", "Bad\nCode", "x y"}) {
    const std::string one = error_of(answer(403, code)).what();
    EXPECT_EQ(one.find("secret of"), std::string::npos) << one;
    EXPECT_EQ(one.find('\n'), std::string::npos) << one;
  }
}

TEST(ObjectWords, AWrongClockIsNamed) {
  HttpAnswer skewed = answer(403, "RequestTimeTooSkewed");
  skewed.headers["date"] = "Wed, 25 Nov 2015 20:53:21 GMT";
  const std::string text = error_of(skewed).what();
  EXPECT_NE(text.find("the clock of this machine differs from the store's by "), std::string::npos)
      << text;
  EXPECT_EQ(storage::http_date("Thu, 01 Jan 1970 00:01:00 GMT"), 60);
  EXPECT_EQ(storage::http_date("yesterday"), 0);
}

TEST(ObjectWords, AnAnswerThatIsNoListIsNoEmptyFolder) {
  if (!test::has_curl()) {
    GTEST_SKIP() << "no libcurl";
  }
  test::SmallStore store;
  store.use();
  storage::Bucket bucket("b", "s3://b/run.zarr", storage::BucketOptions{4});
  for (const char* none : {"", "<html>Log in</html>", "<ListBucketResult><Contents>"}) {
    store.set_listing(none);
    const Error error = test::thrown_by([&] { bucket.list("run.zarr/", false); });
    EXPECT_EQ(error.code(), Code::io) << none;
    EXPECT_NE(std::string(error.what()).find("no list of objects"), std::string::npos)
        << error.what();
  }
  store.set_listing("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>");
  EXPECT_TRUE(bucket.list("run.zarr/", false).keys.empty());
  store.set_listing(
      "<?xml version=\"1.0\"?>\n<ListBucketResult\n  xmlns=\"http://s3.amazonaws.com/doc/\">"
      "<Contents><Key>run.zarr/a</Key><Size>3</Size></Contents></ListBucketResult>");
  EXPECT_EQ(bucket.list("run.zarr/", false).keys, std::vector<std::string>{"run.zarr/a"});
}

}  // namespace
}  // namespace sluice
