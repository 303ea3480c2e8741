// What was written in new space since the last sync of the data, by checksum: after a sync that
// failed the kernel may have dropped any of it, and says yes the next time.
//
// Invariant: ranges do not overlap; where that cannot be held (a write over parts of others), or
// there are too many, nothing can be told any more until the next clear().
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::plugin {

class FreshRanges {
 public:
  void add(std::uint64_t offset, std::span<const std::byte> bytes);
  void clear();
  /// Reads everything back through `file`, a descriptor on which no sync has failed, and writes it
  /// there again. False: what was read differs from what was written, or it cannot be told.
  bool write_again(storage::File& file) const;

 private:
  struct Range {
    std::uint64_t length = 0;
    std::uint64_t checksum = 0;
  };
  std::map<std::uint64_t, Range> ranges_;
  bool is_known_ = true;
};

}  // namespace sluice::plugin
