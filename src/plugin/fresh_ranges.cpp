#include "plugin/fresh_ranges.hpp"

#include <algorithm>

#include "codec/checksum.hpp"

namespace sluice::plugin {

void FreshRanges::add(std::uint64_t offset, std::span<const std::byte> bytes) {
  constexpr std::size_t most_ranges = 1 << 20;
  if (!is_known_ || bytes.empty()) {
    return;
  }
  const auto next = ranges_.lower_bound(offset);
  const bool is_same =
      next != ranges_.end() && next->first == offset && next->second.length == bytes.size();
  const bool meets_next = next != ranges_.end() && next->first < offset + bytes.size();
  const bool meets_last =
      next != ranges_.begin() && std::prev(next)->first + std::prev(next)->second.length > offset;
  if ((meets_next && !is_same) || meets_last || ranges_.size() >= most_ranges) {
    ranges_.clear();
    is_known_ = false;
    return;
  }
  ranges_[offset] = {bytes.size(), codec::checksum(bytes)};
}

void FreshRanges::clear() {
  ranges_.clear();
  is_known_ = true;
}

bool FreshRanges::write_again(storage::File& file) const {
  constexpr std::uint64_t piece_bytes = 1 << 20;
  if (!is_known_) {
    return false;
  }
  codec::Checksum digest;
  std::vector<std::byte> piece;
  for (const auto& [offset, range] : ranges_) {
    digest.restart();
    for (std::uint64_t done = 0; done < range.length; done += piece.size()) {
      piece.resize(std::min(piece_bytes, range.length - done));
      if (file.read(offset + done, piece) != piece.size()) {
        return false;
      }
      digest.update(piece);
      file.write(offset + done, piece);
    }
    if (digest.value() != range.checksum) {
      return false;
    }
  }
  return true;
}

}  // namespace sluice::plugin
