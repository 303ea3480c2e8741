#include "model/overlay.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::model {

Overlay::Runs::const_iterator Overlay::first_after(std::uint64_t offset) const {
  auto it = runs_.upper_bound(offset);
  if (it != runs_.begin()) {
    auto before = std::prev(it);
    if (before->first + before->second.size() > offset) {
      return before;
    }
  }
  return it;
}

void Overlay::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return;
  }
  const std::uint64_t end = offset + bytes.size();
  const auto found = first_after(offset);
  if (found != runs_.end() && found->first <= offset &&
      end <= found->first + found->second.size()) {
    // Inside one run, the usual case: a node is rewritten in place.
    auto& run = runs_[found->first];
    std::memcpy(run.data() + (offset - found->first), bytes.data(), bytes.size());
    return;
  }
  std::uint64_t from = offset;
  std::uint64_t to = end;
  auto it = found;
  std::vector<Runs::const_iterator> swallowed;
  for (; it != runs_.end() && it->first < end; ++it) {
    from = std::min(from, it->first);
    to = std::max(to, it->first + it->second.size());
    swallowed.push_back(it);
  }
  if (swallowed.empty()) {
    adopt(offset, {bytes.begin(), bytes.end()});
    return;
  }
  std::vector<std::byte> merged(to - from);
  for (const auto& run : swallowed) {
    std::memcpy(merged.data() + (run->first - from), run->second.data(), run->second.size());
  }
  std::memcpy(merged.data() + (offset - from), bytes.data(), bytes.size());
  for (const auto& run : swallowed) {
    held_bytes_ -= run->second.size();
    runs_.erase(run);
  }
  held_bytes_ += merged.size();
  runs_.emplace(from, std::move(merged));
}

void Overlay::adopt(std::uint64_t offset, std::vector<std::byte> bytes) {
  held_bytes_ += bytes.size();
  runs_.emplace(offset, std::move(bytes));
}

void Overlay::read_over(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (bytes.empty()) {
    return;
  }
  const std::uint64_t end = offset + bytes.size();
  for (auto it = first_after(offset); it != runs_.end() && it->first < end; ++it) {
    const std::uint64_t from = std::max(offset, it->first);
    const std::uint64_t to = std::min(end, it->first + it->second.size());
    std::memcpy(bytes.data() + (from - offset), it->second.data() + (from - it->first), to - from);
  }
}

bool Overlay::touches(std::uint64_t offset, std::uint64_t length) const {
  const auto it = first_after(offset);
  return length != 0 && it != runs_.end() && it->first < offset + length;
}

}  // namespace sluice::model
