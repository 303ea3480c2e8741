#include "mpiio/runs.hpp"

#include <algorithm>

namespace sluice::mpiio {

std::size_t Flat::run_at(std::int64_t stream) const {
  if (runs.size() == 1) {
    return 0;
  }
  const auto above = std::upper_bound(before.begin(), before.end(), stream);
  return static_cast<std::size_t>(above - before.begin()) - 1;
}

void Flat::index() {
  before.clear();
  before.reserve(runs.size());
  size = 0;
  for (const Run& run : runs) {
    before.push_back(size);
    size += run.length;
  }
}

Flat Flat::bytes(std::int64_t count) {
  Flat flat;
  if (count > 0) {
    flat.runs.push_back({0, count});
  }
  flat.extent = count;
  flat.index();
  return flat;
}

void Flat::append(const Flat& child, std::int64_t at) {
  for (const Run& run : child.runs) {
    const std::int64_t offset = run.offset + at;
    if (!runs.empty() && runs.back().end() == offset) {
      runs.back().length += run.length;
    } else {
      runs.push_back({offset, run.length});
    }
  }
}

void Flat::append_block(const Flat& child, std::int64_t count, std::int64_t at) {
  if (count <= 0) {
    return;
  }
  enclose(child, count, at);
  if (child.is_dense()) {
    Flat block;
    block.runs.push_back({child.runs[0].offset, child.extent * count});
    append(block, at);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    append(child, at + i * child.extent);
  }
}

void Flat::mark(std::int64_t first, std::int64_t bytes) {
  lower = first;
  extent = bytes;
  is_marked = true;
}

// Before the runs of the block are added.
void Flat::enclose(const Flat& child, std::int64_t count, std::int64_t at) {
  if (!child.is_marked && (child.runs.empty() || is_marked)) {
    return;
  }
  const std::int64_t to_last = (count - 1) * child.extent;  // negative if they descend
  std::int64_t first = at + child.lower + std::min<std::int64_t>(to_last, 0);
  std::int64_t last = at + child.lower + child.extent + std::max<std::int64_t>(to_last, 0);
  const bool replaces = !is_marked && (runs.empty() || child.is_marked);
  if (!replaces) {
    first = std::min(first, lower);
    last = std::max(last, lower + extent);
  }
  lower = first;
  extent = last - first;
  is_marked = child.is_marked;
}

Flat flat_of_cut(const Flat& element, const Cut& cut) {
  Flat inner = element;
  const std::size_t dims = cut.sizes.size();
  std::int64_t extent = element.extent;
  for (std::size_t i = 0; i < dims; ++i) {
    const std::size_t dim = cut.is_fortran ? i : dims - 1 - i;
    Flat outer;
    for (const Run& piece : cut.pieces[dim]) {
      outer.append_block(inner, piece.length, piece.offset * extent);
    }
    extent *= cut.sizes[dim];
    outer.extent = extent;
    inner = std::move(outer);
  }
  inner.mark(0, extent);
  inner.index();
  return inner;
}

std::vector<Run> pieces_of(const Dealing& dealing) {
  const std::int64_t parts = std::max<std::int64_t>(dealing.processes, 1);
  switch (dealing.kind) {
    case Dealing::Kind::none:
      return dealing.size > 0 ? std::vector<Run>{{0, dealing.size}} : std::vector<Run>{};
    case Dealing::Kind::block: {
      const std::int64_t block =
          dealing.argument > 0 ? dealing.argument : (dealing.size + parts - 1) / parts;
      const std::int64_t first = std::min(dealing.process * block, dealing.size);
      const std::int64_t last = std::min(first + block, dealing.size);
      return last > first ? std::vector<Run>{{first, last - first}} : std::vector<Run>{};
    }
    case Dealing::Kind::cyclic: {
      const std::int64_t block = dealing.argument > 0 ? dealing.argument : 1;
      std::vector<Run> pieces;
      for (std::int64_t at = dealing.process * block; at < dealing.size; at += block * parts) {
        pieces.push_back({at, std::min(block, dealing.size - at)});
      }
      return pieces;
    }
  }
  return {};
}

}  // namespace sluice::mpiio
