// Ranges of objects that are read before they are asked for, several at a time.
//
// Invariants: what is held, or being read, has at most ReadAheadLimits::held_bytes for each call of
// begin(), and none of it outlives what that returned, but for the requests under way; a range is
// given once; after a failure, which is that of who asks for the range, nothing is begun.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/object/bucket.hpp"
#include "storage/object/workers.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {

struct ReadAheadLimits {
  std::uint64_t held_bytes = 64ULL << 20;
  std::uint64_t range_bytes = 8ULL << 20;  ///< longer ranges are left to who asks for them
};

class ReadAhead {
 public:
  ReadAhead(Bucket& bucket, Workers& workers, const ReadAheadLimits& limits)
      : bucket_(bucket), workers_(workers), limits_(limits) {}

  /// The paths are keys. What is returned keeps the ranges. Any thread, as take().
  std::shared_ptr<void> begin(std::vector<ObjectRange> ranges);
  /// Waits for a range of which this is a part, and returns how many bytes there were; empty: there
  /// is none.
  std::optional<std::size_t> take(const std::string& key, std::uint64_t offset,
                                  std::span<std::byte> into);

 private:
  class Run;

  Bucket& bucket_;
  Workers& workers_;
  const ReadAheadLimits limits_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<Run>> runs_;
};

}  // namespace sluice::storage
