#include "plan/session_tiles.hpp"

namespace sluice::plan {

std::vector<int> SessionTiles::owners_of(const ByteRange& range) const {
  if (range.bytes == 0) {
    return {};
  }
  const std::uint64_t n = owners_.size();
  const std::uint64_t first = tile_of(range.offset);
  const std::uint64_t tiles = std::min(n, tile_of(range.end() - 1) - first + 1);
  std::vector<int> ranks;
  for (std::uint64_t i = 0; i < tiles; ++i) {
    ranks.push_back(owners_[(first % n + i) % n]);
  }
  return ranks;
}

std::uint64_t SessionTiles::share(const ByteRange& range, int rank) const {
  const int place = owners_.index_of(rank);
  if (range.bytes == 0 || place < 0) {
    return 0;
  }
  const std::uint64_t n = owners_.size();
  const auto index = static_cast<std::uint64_t>(place);
  const std::uint64_t first = tile_of(range.offset);
  const std::uint64_t last = tile_of(range.end() - 1);
  const std::uint64_t before = (index + n - first % n) % n;
  if (before > last - first) {
    return 0;
  }
  const std::uint64_t tiles = (last - first - before) / n + 1;
  std::uint64_t bytes = tiles * tile_bytes_;
  if (first % n == index) {
    bytes -= range.offset % tile_bytes_;
  }
  if (last % n == index) {
    bytes -= tile_bytes_ - 1 - (range.end() - 1) % tile_bytes_;
  }
  return bytes;
}

}  // namespace sluice::plan
