#include "model/overlay.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
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
  auto last = found;
  std::uint64_t swallowed_bytes = 0;
  for (; last != runs_.end() && last->first < end; ++last) {
    from = std::min(from, last->first);
    to = std::max(to, last->first + last->second.size());
    swallowed_bytes += last->second.size();
  }
  if (found == last) {
    adopt(offset, {bytes.begin(), bytes.end()});
    return;
  }
  std::vector<std::byte> merged(to - from);
  for (auto run = found; run != last; ++run) {
    std::memcpy(merged.data() + (run->first - from), run->second.data(), run->second.size());
  }
  std::memcpy(merged.data() + (offset - from), bytes.data(), bytes.size());
  // From here on no memory is needed.
  runs_.erase(std::next(found), last);
  auto node = runs_.extract(found);
  node.key() = from;
  node.mapped() = std::move(merged);
  held_bytes_ += node.mapped().size() - swallowed_bytes;
  runs_.insert(last, std::move(node));
}

void Overlay::adopt(std::uint64_t offset, std::vector<std::byte> bytes) {
  const std::size_t count = bytes.size();
  runs_.emplace(offset, std::move(bytes));
  held_bytes_ += count;
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
