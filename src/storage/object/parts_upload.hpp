// The upload of one object in parts: nothing is seen of it before its end.
#pragma once

#include <span>
#include <string>

#include "storage/object/bucket.hpp"

namespace sluice::storage {

struct UploadedPart {
  int number = 0;
  std::string etag;
};

class PartsUpload {
 public:
  /// Begins it. `made`: what is there after its end; its random number goes with the object.
  PartsUpload(Bucket& bucket, std::string key, ObjectFacts made);

  /// By any thread.
  UploadedPart put(int number, std::span<const std::byte> bytes);
  void end(std::span<const UploadedPart> parts);
  /// Within Bucket::after_failure_s().
  void abort() noexcept;

 private:
  std::string parameter() const;

  Bucket& bucket_;
  const std::string key_;
  const ObjectFacts made_;
  std::string upload_;  ///< as the store names it
};

}  // namespace sluice::storage
