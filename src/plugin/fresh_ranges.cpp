#include "plugin/fresh_ranges.hpp"

#include <algorithm>

#include "codec/checksum.hpp"
#include "commit/publish/range_checksum.hpp"

namespace sluice::plugin {

void FreshRanges::add(std::uint64_t offset, std::span<const std::byte> bytes) {
  constexpr std::size_t most_ranges = 1 << 20;
  if (!is_known_ || bytes.empty()) {
    return;
  }
  if (!is_kept_) {
    add_untold();
    return;
  }
  const auto next = ranges_.lower_bound(offset);
  const bool is_same =
      next != ranges_.end() && next->first == offset && next->second.length == bytes.size();
  const bool meets_next = next != ranges_.end() && next->first < offset + bytes.size();
  const bool meets_last =
      next != ranges_.begin() && std::prev(next)->first + std::prev(next)->second.length > offset;
  if ((meets_next && !is_same) || meets_last || ranges_.size() >= most_ranges) {
    add_untold();
    return;
  }
  ranges_[offset] = {bytes.size(), codec::checksum(bytes)};
}

void FreshRanges::add_untold() noexcept {
  ranges_.clear();
  is_known_ = false;
}

void FreshRanges::clear() {
  ranges_.clear();
  is_known_ = true;
}

std::optional<std::vector<commit::FreshExtent>> FreshRanges::cover(storage::File& file,
                                                                   std::uint64_t from,
                                                                   std::uint64_t end) const {
  constexpr std::size_t most_extents = 1 << 16;
  constexpr std::uint64_t most_read_bytes = 1 << 20;
  std::vector<commit::FreshExtent> all;
  std::vector<std::byte> bytes;
  std::uint64_t read_bytes = 0;
  // What was never written is zeros, of which a crash may make something else.
  const auto add_read = [&](std::uint64_t begin, std::uint64_t length) {
    read_bytes += length;
    if (length == 0 || read_bytes > most_read_bytes) {
      return length == 0;
    }
    bytes.resize(length);
    const bool is_there = file.read(begin, bytes) == length;
    all.push_back({begin, length, codec::checksum(bytes)});
    return is_there;
  };
  std::uint64_t at = from;
  for (auto next = ranges_.lower_bound(from); next != ranges_.end() && next->first < end; ++next) {
    const auto& [offset, range] = *next;
    const bool is_whole = range.length <= end - offset;
    if (all.size() >= most_extents || !add_read(at, offset - at)) {
      return std::nullopt;
    }
    if (is_whole) {
      all.push_back({offset, range.length, range.checksum});
      at = offset + range.length;
    } else {
      at = offset;  // HDF5 gave its end back
      break;
    }
  }
  const bool is_told = is_known_ && add_read(at, end - std::min(at, end));
  return is_told ? std::optional(std::move(all)) : std::nullopt;
}

bool FreshRanges::write_again(storage::File& file) const {
  const auto write = [&](std::uint64_t offset, std::span<const std::byte> piece) {
    file.write(offset, piece);
  };
  return is_known_ && std::ranges::all_of(ranges_, [&](const auto& known) {
           const auto& [offset, range] = known;
           return commit::range_checksum(file, offset, range.length, write) == range.checksum;
         });
}

}  // namespace sluice::plugin
