#include "exec/encode/provisional_file.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace sluice::exec {

void RelocatedFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!is_placed_) {
    kept_.push_back({offset, {bytes.begin(), bytes.end()}});
    return;
  }
  auto at =
      std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                       [](std::uint64_t place, const Range& range) { return place < range.first; });
  while (!bytes.empty()) {
    if (at == ranges_.begin() || offset >= std::prev(at)->last) {
      throw Error(Code::internal, path() + ": bytes of a commit without an address");
    }
    const Range& here = *std::prev(at);
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), here.last - offset);
    file_.write(here.address + (offset - here.first), bytes.first(count));
    bytes = bytes.subspan(count);
    offset += count;
    ++at;
  }
}

void RelocatedFile::place(const layout::CommitPlan& real) {
  std::map<std::uint32_t, const layout::Placement*> by_variable;
  for (const layout::Placement& placement : real.placements) {
    by_variable[placement.variable()] = &placement;
  }
  for (const layout::Placement& here : provisional_->placements) {
    const auto found = by_variable.find(here.variable());
    const layout::Placement* there = found == by_variable.end() ? nullptr : found->second;
    if (there == nullptr || there->tiles() != here.tiles() || there->tiling() != here.tiling()) {
      throw Error(Code::internal, path() + ": a variable is not placed as predicted");
    }
    for (std::uint64_t tile = 0; tile < here.tiles(); ++tile) {
      add(here.address(tile), here.tile_bytes(tile), there->address(tile));
    }
  }
  if (provisional_->checksums) {
    place_checksums(*provisional_->checksums, real);
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  is_placed_ = true;
}

void RelocatedFile::write_kept() {
  for (const Kept& kept : std::exchange(kept_, {})) {
    write(kept.offset, kept.bytes);
  }
}

void RelocatedFile::add(std::uint64_t provisional, std::uint64_t bytes, std::uint64_t address) {
  if (provisional != layout::absent && address != layout::absent && bytes != 0) {
    ranges_.push_back({provisional, provisional + bytes, address});
  }
}

/// The words are contiguous here; in the file they may be in several ranges.
void RelocatedFile::place_checksums(const layout::Placement& here, const layout::CommitPlan& real) {
  std::uint64_t done = 0;
  for (std::uint64_t tile = 0; real.checksums && tile < real.checksums->tiles(); ++tile) {
    const std::uint64_t bytes = std::min(real.checksums->tile_bytes(), here.tile_bytes() - done);
    add(here.address(0) + done, bytes, real.checksums->address(tile));
    done += bytes;
  }
}

}  // namespace sluice::exec
