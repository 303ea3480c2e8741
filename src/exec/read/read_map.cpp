#include "exec/read/read_map.hpp"

#include <algorithm>
#include <utility>

#include "layout/runs.hpp"

namespace sluice::exec {

std::uint64_t ReadMap::rounds() const {
  std::uint64_t longest = 0;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    longest = std::max(longest, bounds[i + 1] - bounds[i]);
  }
  return (longest + window_bytes - 1) / window_bytes;
}

ReadMap read_map(const layout::Placement& placement, const layout::Extent& space,
                 std::span<const CheckedPiece> records, std::vector<int> readers,
                 std::uint64_t window_bytes) {
  std::uint64_t first = space.offset;
  std::uint64_t last = space.offset + space.length;
  std::vector<Range> taken;  // ascending, and later merged
  for (const CheckedPiece& record : records) {
    const layout::RunList runs(placement, record.piece);
    taken.push_back({runs.begin(), runs.end()});
    first = std::min(first, runs.begin());
    last = std::max(last, runs.end());
  }
  std::sort(taken.begin(), taken.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  ReadMap map;
  map.readers = std::move(readers);
  map.window_bytes = window_bytes;
  map.bounds.push_back(first);
  auto next = taken.begin();
  std::uint64_t reached = first;  // the end of the records that begin before the bound
  const std::uint64_t n = map.readers.size();
  for (std::uint64_t i = 1; i < n; ++i) {
    std::uint64_t bound = std::max(map.bounds.back(), first + (last - first) / n * i);
    for (; next != taken.end() && next->first < std::max(bound, reached); ++next) {
      reached = std::max(reached, next->last);
    }
    bound = std::max(bound, reached);
    map.bounds.push_back(bound);
  }
  map.bounds.push_back(std::max(last, map.bounds.back()));
  return map;
}

Range window_of(const ReadMap& map, std::size_t reader, std::uint64_t round) {
  const std::uint64_t begin = map.bounds[reader];
  const std::uint64_t end = map.bounds[reader + 1];
  const std::uint64_t first = std::min(end, begin + round * map.window_bytes);
  return {first, std::min(end, first + map.window_bytes)};
}

}  // namespace sluice::exec
