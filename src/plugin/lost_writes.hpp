// What a program has written and is nowhere, because that failed: no commit is made without it.
//
// Invariants: ranges do not overlap. Where memory for a range is missing, what was lost cannot be
// told any more, and stays lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <new>
#include <string>

namespace sluice::plugin {

class LostWrites {
 public:
  void note(std::uint64_t offset, std::uint64_t length) noexcept {
    std::uint64_t end = offset + length;
    auto next = first_after(offset);
    for (; next != ends_.end() && next->first < end; next = ends_.erase(next)) {
      offset = std::min(offset, next->first);
      end = std::max(end, next->second);
    }
    if (offset != end && !keep(offset, end)) {
      is_told_ = false;
    }
  }
  /// A range of which the middle was written stays whole where memory is missing for two.
  void note_written(std::uint64_t offset, std::uint64_t length) noexcept {
    const std::uint64_t to = offset + length;
    for (auto next = first_after(offset); next != ends_.end() && next->first < to;) {
      if (next->second > to && !keep(to, next->second)) {
        return;
      }
      if (next->first < offset) {
        (next++)->second = offset;
      } else {
        next = ends_.erase(next);
      }
    }
  }
  bool is_empty() const noexcept { return ends_.empty() && is_told_; }
  /// The first of them, for the text of an error.
  std::string text() const {
    if (ends_.empty()) {
      return "some bytes";
    }
    const auto& [offset, end] = *ends_.begin();
    return std::to_string(end - offset) + " bytes at offset " + std::to_string(offset);
  }

 private:
  using Ends = std::map<std::uint64_t, std::uint64_t>;

  /// The first range that ends after `offset`.
  Ends::iterator first_after(std::uint64_t offset) noexcept {
    const auto next = ends_.upper_bound(offset);
    return next != ends_.begin() && std::prev(next)->second > offset ? std::prev(next) : next;
  }
  bool keep(std::uint64_t offset, std::uint64_t end) noexcept {
    try {
      ends_[offset] = end;
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  Ends ends_;  ///< of a range, by its first byte
  bool is_told_ = true;
};

}  // namespace sluice::plugin
