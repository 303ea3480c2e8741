// Answers of object stores that are not as they should be are errors, and nothing is lost by them.
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "object/small_store.hpp"
#include "sluice/error.hpp"
#include "storage/object/bucket.hpp"
#include "storage/object/http.hpp"
#include "storage/object/object_storage.hpp"
#include "storage/object/parts_upload.hpp"
#include "support/errors.hpp"

namespace sluice {
namespace {

using Kind = storage::PutCondition::Kind;
using Request = test::SmallStore::Request;

constexpr const char* object = "/b/run.zarr/o";

class ObjectAnswers : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_curl()) {
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

TEST_F(ObjectAnswers, AnotherPartThanWasAskedForIsNotRead) {
  std::string range;
  std::string content;
  store_.change_answers([&](const Request& request, std::string& answer) {
    if (request.method != "GET") return;
    answer = "HTTP/1.1 206 Told\r\n" + range + "Content-Length: " + std::to_string(content.size()) +
             "\r\n\r\n" + content;
  });
  std::vector<std::byte> bytes(4);
  const auto read = [&](std::uint64_t offset, const char* told, const char* text) {
    range = *told == '\0' ? "" : "Content-Range: bytes " + std::string(told) + "\r\n";
    content = text;
    return bucket_->get("run.zarr/o", offset, bytes);
  };
  EXPECT_EQ(read(2, "2-5/10", "2345"), 4U);
  EXPECT_EQ(read(2, "2-5/*", "2345"), 4U);
  EXPECT_EQ(read(8, "8-9/10", "89"), 2U);
  for (const auto& [told, text] : std::vector<std::pair<const char*, const char*>>{
           {"0-3/10", "0123"}, {"2-3/10", "23"}, {"2-3/*", "23"}, {"", "2345"}, {"", ""}}) {
    const Error error = test::thrown_by([&] { read(2, told, text); });
    test::expect_error(error, Code::io, {"s3://b/run.zarr/o: read failed", "another part"});
  }
}

std::string page(const std::string& next, const std::string& key) {
  return "<ListBucketResult><IsTruncated>" + std::string(next.empty() ? "false" : "true") +
         "</IsTruncated>" +
         (next.empty() ? "" : "<NextContinuationToken>" + next + "</NextContinuationToken>") +
         (key.empty() ? "" : "<Contents><Key>" + key + "</Key><Size>1</Size></Contents>") +
         "</ListBucketResult>";
}

TEST_F(ObjectAnswers, AListingThatNamesOneNextPageTwiceEnds) {
  storage::ObjectStorage objects("s3://bbb/run.zarr", {2});
  store_.set_listing(page("same", ""));
  for (const std::function<void()>& call : std::vector<std::function<void()>>{
           [&] { objects.list("s3://bbb/run.zarr"); }, [&] { objects.exists("s3://bbb/run.zarr"); },
           [&] { objects.bytes_below("s3://bbb/run.zarr"); },
           [&] { objects.remove_folder("s3://bbb/run.zarr"); }}) {
    test::expect_error(test::thrown_by(call), Code::io, {"list failed", "next one's token"});
  }
}

/// Pages that lead to each other, or to one more each.
TEST_F(ObjectAnswers, AListingWithoutAnEndEnds) {
  storage::ObjectStorage objects("s3://bbb/run.zarr", {2});
  const std::vector<std::function<void()>> calls{
      [&] { objects.list("s3://bbb/run.zarr"); }, [&] { objects.exists("s3://bbb/run.zarr"); },
      [&] { objects.bytes_below("s3://bbb/run.zarr"); },
      [&] { objects.remove_folder("s3://bbb/run.zarr"); }};
  for (const bool is_new : {false, true}) {
    int pages = 0;
    store_.set_listing("none");
    store_.change_answers([&](const Request& request, std::string& answer) {
      if (request.path.find("list-type") == std::string::npos) return;
      ++pages;
      const std::string text = page("t" + std::to_string(is_new ? pages : pages % 2), "");
      answer = "HTTP/1.1 200 Told\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n" +
               (pages < 9999 ? text : "");
    });
    for (const auto& call : calls) {
      test::expect_error(test::thrown_by(call), Code::io, {"list failed", "leads to no end"});
    }
  }
}

TEST_F(ObjectAnswers, WhatIsListedThoughItWasRemovedIsAnError) {
  storage::ObjectStorage objects("s3://bbb/run.zarr", {2});
  store_.set_listing(page("next", "run.zarr/o"));
  const Error error = test::thrown_by([&] { objects.remove_folder("s3://bbb/run.zarr"); });
  test::expect_error(error, Code::io, {"list failed", "again and again"});
}

/// What has the names of a step is removed before it, if it is there.
TEST_F(ObjectAnswers, OnlyWhatIsListedIsRemovedBeforeAStep) {
  storage::ObjectStorage objects("s3://bbb/run.zarr", {2});
  const auto key = [](int i) { return "run.zarr/x/c." + std::to_string(i); };
  const auto remove = [&] {
    objects.remove_all(std::vector<std::string>{"s3://bbb/" + key(0), "s3://bbb/" + key(1)});
    return std::pair(store_.count("DELETE", "/bbb/" + key(0)),
                     store_.count("DELETE", "/bbb/" + key(1)));
  };
  store_.set_listing(page("", key(1)));
  EXPECT_EQ(remove(), std::pair(0, 1));
  EXPECT_EQ(remove(), std::pair(0, 1));
  objects.discard();  // a commit failed
  EXPECT_EQ(remove(), std::pair(0, 2));
  objects.discard();
  store_.set_listing(page("more", key(1)));
  EXPECT_EQ(remove(), std::pair(1, 3));  // for two objects one page is listed
}

TEST_F(ObjectAnswers, AnUploadThatIsGoneIsKnownByItsNumber) {
  std::string head;
  store_.fail([&](Request& request) {
    if (request.method != "POST") return 0;
    head = request.head;
    return request.path.find("uploadId") == std::string::npos ? 0 : 404;  // its end
  });
  storage::ObjectFacts made;
  made.bytes = 4;
  made.commit = "mine";
  storage::PartsUpload upload(*bucket_, "run.zarr/o", made);
  EXPECT_NE(head.find("x-amz-meta-sluice-commit: mine"), std::string::npos);
  const auto end = [&] { upload.end({}); };
  store_.set(object, "1234");  // of a store that drops numbers
  end();
  store_.set(object, "1234", "mine");
  end();
  for (const std::string number : {"another's", ""}) {
    store_.set(object, "1234", number);
    EXPECT_EQ(test::thrown_by(end).code(), Code::not_found) << number;
  }
}

TEST_F(ObjectAnswers, AnEmptyPageIsNotTheLast) {
  storage::ObjectStorage objects("s3://bbb/run.zarr", {2});
  store_.set_listing(page("next", ""));
  store_.fail([&](Request& request) {
    if (request.path.find("continuation-token=next") != std::string::npos) {
      request.path = "/bbb/next";  // which is no listing
    }
    return 0;
  });
  store_.set("/bbb/next", page("", "run.zarr/o"));
  store_.set("/bbb/run.zarr/o", "x");
  EXPECT_TRUE(objects.exists("s3://bbb/run.zarr"));
  objects.remove_folder("s3://bbb/run.zarr");
  EXPECT_FALSE(store_.has("/bbb/run.zarr/o"));
}

TEST_F(ObjectAnswers, AListingOfOtherObjectsRemovesNone) {
  storage::ObjectStorage objects("s3://bbb/run.zarr", {2});
  store_.set("/bbb/other/o", "precious");
  store_.set_listing(page("", "other/o"));
  const Error error = test::thrown_by([&] { objects.remove_folder("s3://bbb/run.zarr"); });
  test::expect_error(error, Code::io, {"s3://bbb/run.zarr/: list failed", "not below it"});
  EXPECT_TRUE(store_.has("/bbb/other/o"));
}

}  // namespace
}  // namespace sluice
