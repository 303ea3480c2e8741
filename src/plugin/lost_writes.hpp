// What a program has written and is nowhere, because that failed: no commit is made without it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/held_writes.hpp"

namespace sluice::plugin {

class LostWrites {
 public:
  void note(std::uint64_t offset, std::uint64_t length) {
    note_written(offset, length);
    ranges_.push_back({offset, length});
  }
  void note_written(std::uint64_t offset, std::uint64_t length) { cut(ranges_, offset, length); }
  bool is_empty() const noexcept { return ranges_.empty(); }
  /// The first of them, for the text of an error.
  std::string text() const {
    return std::to_string(ranges_.front().length) + " bytes at offset " +
           std::to_string(ranges_.front().offset);
  }

 private:
  std::vector<HeldWrites::Range> ranges_;
};

}  // namespace sluice::plugin
