#include "storage/object/parts_upload.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "sluice/error.hpp"
#include "storage/object/xml.hpp"

namespace sluice::storage {

namespace {

std::vector<std::byte> bytes_of_text(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

PartsUpload::PartsUpload(Bucket& bucket, std::string key, ObjectFacts made)
    : bucket_(bucket), key_(std::move(key)), made_(std::move(made)) {
  HttpRequest request;
  request.method = "POST";
  request.headers.push_back(std::string(commit_header) + ": " + made_.commit);
  const HttpAnswer answer = bucket_.send({"begin of an upload", key_, "uploads="}, request);
  upload_ = xml_text(answer.text, "UploadId");
  if (upload_.empty()) {
    throw Error(Code::io,
                bucket_.url_text(key_) + ": begin of an upload failed: the store named none");
  }
}

std::string PartsUpload::parameter() const { return "uploadId=" + url_encoded(upload_, ""); }

UploadedPart PartsUpload::put(int number, std::span<const std::byte> bytes) {
  HttpRequest request;
  request.method = "PUT";
  request.body = bytes;
  const std::string parameters = "partNumber=" + std::to_string(number) + "&" + parameter();
  return {number, bucket_.send({"write of a part", key_, parameters}, request).header("etag")};
}

void PartsUpload::end(std::span<const UploadedPart> parts) {
  std::string text = "<CompleteMultipartUpload>";
  for (const UploadedPart& part : parts) {
    text += "<Part><PartNumber>" + std::to_string(part.number) + "</PartNumber><ETag>" + part.etag +
            "</ETag></Part>";
  }
  text += "</CompleteMultipartUpload>";
  const std::vector<std::byte> body = bytes_of_text(text);
  HttpRequest request;
  request.method = "POST";
  request.body = body;
  const Bucket::Call call{"end of an upload", key_, parameter(), false, true, true};
  const HttpAnswer answer = bucket_.send(call, request);
  if (answer.status != 404) {
    return;
  }
  // The answer to an earlier try may have been lost: then the upload is gone, and the object there.
  const auto there = bucket_.head(key_);
  const bool is_own =
      there && there->bytes == made_.bytes &&
      (there->commit == made_.commit || (there->commit.empty() && !bucket_.keeps_numbers_));
  if (!is_own) {
    bucket_.fail(call, answer, 1, 0);
  }
}

void PartsUpload::abort() noexcept {
  try {
    HttpRequest request;
    request.method = "DELETE";
    bucket_.send({.what = "abort of an upload",
                  .key = key_,
                  .parameters = parameter(),
                  .may_be_absent = true,
                  .most_s = bucket_.after_failure_s()},
                 request);
  } catch (const std::exception&) {
    // it stays invisible; docs/object-stores.md says how the store removes it by itself
  }
}

}  // namespace sluice::storage
