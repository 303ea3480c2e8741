#include "exec/write/round_source.hpp"

#include <algorithm>

namespace sluice::exec {

ItemsByWriter items_by_writer(const std::vector<RoundItem>& items, const plan::TileMap& tiles,
                              const plan::OwnRange& range) {
  ItemsByWriter leaving;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const layout::RunList& runs = items[i].runs;
    std::uint64_t at = tiles.next_within(runs.begin(), range);
    while (at < runs.end()) {
      const std::uint64_t byte = runs.next_byte(at);
      if (byte != at) {
        at = tiles.next_within(byte, range);
        continue;
      }
      const plan::Stretch here = tiles.stretch_at(at);
      std::vector<std::size_t>& those = leaving[here.writer];
      if (those.empty() || those.back() != i) {
        those.push_back(i);
      }
      const std::uint64_t length = std::min(here.length, range.last - here.own);
      at = tiles.next_within(at + length, range);
    }
  }
  return leaving;
}

}  // namespace sluice::exec
