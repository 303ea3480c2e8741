// Uploads in parts: nothing is seen of one before its end.
#include <cstring>

#include "sluice/error.hpp"
#include "storage/object/bucket.hpp"
#include "storage/object/xml.hpp"

namespace sluice::storage {

namespace {

std::vector<std::byte> bytes_of_text(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

std::string Bucket::begin_upload(const std::string& key, const std::string& commit) {
  HttpRequest request;
  request.method = "POST";
  request.headers.push_back(std::string(commit_header) + ": " + commit);
  const HttpAnswer answer = send({"begin of an upload", key, "uploads="}, request);
  std::string upload = xml_text(answer.text, "UploadId");
  if (upload.empty()) {
    throw Error(Code::io, url_text(key) + ": begin of an upload failed: the store named none");
  }
  return upload;
}

UploadedPart Bucket::upload_part(const std::string& key, const std::string& upload, int number,
                                 std::span<const std::byte> bytes) {
  HttpRequest request;
  request.method = "PUT";
  request.body = bytes;
  const std::string parameters =
      "partNumber=" + std::to_string(number) + "&uploadId=" + url_encoded(upload, "");
  return {number, send({"write of a part", key, parameters}, request).header("etag")};
}

void Bucket::end_upload(const std::string& key, const std::string& upload,
                        std::span<const UploadedPart> parts, const ObjectFacts& made) {
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
  const Call call{
      "end of an upload", key, "uploadId=" + url_encoded(upload, ""), false, true, true};
  const HttpAnswer answer = send(call, request);
  if (answer.status != 404) {
    return;
  }
  // The answer to an earlier try may have been lost: then the upload is gone, and the object there.
  const auto there = head(key);
  const bool is_own = there && there->bytes == made.bytes &&
                      (there->commit == made.commit || (there->commit.empty() && !keeps_numbers_));
  if (!is_own) {
    fail(call, answer, 1, 0);
  }
}

void Bucket::abort_upload(const std::string& key, const std::string& upload) noexcept {
  try {
    HttpRequest request;
    request.method = "DELETE";
    send({.what = "abort of an upload",
          .key = key,
          .parameters = "uploadId=" + url_encoded(upload, ""),
          .may_be_absent = true,
          .most_s = after_failure_s()},
         request);
  } catch (const std::exception&) {
    // it stays invisible; docs/object-stores.md says how the store removes it by itself
  }
}

}  // namespace sluice::storage
