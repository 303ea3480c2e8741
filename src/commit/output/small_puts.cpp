#include "commit/output/small_puts.hpp"

#include <algorithm>
#include <string>

#include "sluice/error.hpp"

namespace sluice::commit {

using model::Box;
using model::Dims;

namespace {

constexpr std::uint64_t alignment_bytes = 16;  // of the largest element
constexpr int no_axis = -1;

std::uint64_t bytes_of(const Box& box, const Type& type) { return box.volume() * type.bytes; }

/// The axis along which `b`, which follows `a` in memory, forms one dense box with it.
int joining_axis(const Box& a, const Box& b) {
  int axis = no_axis;
  for (int d = 0; d < a.start.rank(); ++d) {
    if (a.start[d] == b.start[d] && a.count[d] == b.count[d]) {
      continue;
    }
    if (axis != no_axis || b.start[d] != a.end(d)) {
      return no_axis;
    }
    axis = d;
  }
  for (int d = 0; d < axis; ++d) {
    if (a.count[d] != 1) {
      return no_axis;  // in row-major order the two would interleave
    }
  }
  return axis;
}

}  // namespace

/// Adds what next() has accepted.
void SmallPuts::settle(Run& run) {
  if (run.taken != 0) {
    run.parts[static_cast<std::size_t>(run.depth - 1)].box.count[run.axis] +=
        run.taken * run.count[static_cast<std::size_t>(run.axis)];
    run.taken = 0;
  }
  run.left = 0;
}

void SmallPuts::join(Run& run) {
  while (run.depth >= 2) {
    Box& below = run.parts[static_cast<std::size_t>(run.depth - 2)].box;
    const Box& top = run.parts[static_cast<std::size_t>(run.depth - 1)].box;
    const int axis = joining_axis(below, top);
    if (axis == no_axis) {
      return;
    }
    below.count[axis] += top.count[axis];
    --run.depth;
  }
}

/// Sets what next() may accept: parts like `last` that extend the newest part, as long as they are
/// inside the shape and the memory and the part below could not be merged.
void SmallPuts::foresee(Run& run, const Box& last, const Dims& shape) {
  const Box& top = run.parts[static_cast<std::size_t>(run.depth - 1)].box;
  run.rank = shape.rank();
  run.part_bytes = bytes_of(last, run.type);
  run.is_single = last.volume() == 1;
  run.axis = no_axis;
  for (int d = 0; d < shape.rank(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    run.start[i] = last.start[d];
    run.count[i] = last.count[d];
    const bool others_fit = [&] {
      for (int k = 0; k < shape.rank(); ++k) {
        if (k != d && (top.count[k] != last.count[k] || (k < d && top.count[k] != 1))) {
          return false;
        }
      }
      return true;
    }();
    if (others_fit && last.end(d) + last.count[d] <= shape[d]) {
      run.axis = d;  // the last such one: rows are filled before columns
    }
  }
  if (run.axis == no_axis) {
    return;
  }
  const auto axis = static_cast<std::size_t>(run.axis);
  run.start[axis] = last.end(run.axis);
  run.left = (shape[run.axis] - last.end(run.axis)) / run.count[axis];
  run.left = std::min(run.left, static_cast<std::uint64_t>(run.end - run.at) / run.part_bytes);
  if (run.depth >= 2) {
    const Box& below = run.parts[static_cast<std::size_t>(run.depth - 2)].box;
    if (below.start[run.axis] == top.start[run.axis] &&
        below.count[run.axis] > top.count[run.axis]) {
      run.left =
          std::min(run.left, (below.count[run.axis] - top.count[run.axis]) / run.count[axis]);
    }
  }
}

void SmallPuts::emit(Run& run, std::uint32_t variable, int parts,
                     std::vector<model::Block>& blocks) {
  for (int p = 0; p < parts; ++p) {
    const Part& part = run.parts[static_cast<std::size_t>(p)];
    model::Block block;
    block.variable = variable;
    block.box = part.box;
    block.memory = {part.data, run.type, part.box.count, Dims::filled(run.rank, 0)};
    block.allow_overflow = run.allow_overflow;
    blocks.push_back(block);
    listed_bytes_ += sizeof block;
  }
  for (int p = parts; p < run.depth; ++p) {
    run.parts[static_cast<std::size_t>(p - parts)] = run.parts[static_cast<std::size_t>(p)];
  }
  run.depth -= parts;
}

std::byte* SmallPuts::take(int size) {
  const auto i = static_cast<std::size_t>(size);
  if (free_[i].empty()) {
    if (held_bytes_ + size_of(size) > budget_bytes_) {
      return nullptr;
    }
    used_[i].push_back(std::make_unique_for_overwrite<std::byte[]>(size_of(size)));
    free_[i].reserve(used_[i].size());  // so that forget() need not allocate
    held_bytes_ += size_of(size);
  } else {
    used_[i].push_back(std::move(free_[i].back()));
    free_[i].pop_back();
  }
  return used_[i].back().get();
}

/// Memory for `bytes` more after the open parts. Open parts are moved if it is too short: rows that
/// are split would become separate blocks.
bool SmallPuts::make_room(Run& run, std::uint32_t variable, std::uint64_t bytes,
                          std::vector<model::Block>& blocks) {
  int size = std::min(run.size, sizes - 1);
  while (size < sizes - 1 && size_of(size) < bytes) {
    ++size;
  }
  std::byte* fresh = take(size);
  while (fresh == nullptr && size > 0 && size_of(size - 1) >= bytes) {
    fresh = take(--size);
  }
  if (fresh == nullptr || size_of(size) < bytes) {
    return false;
  }
  run.size = std::min(size + 1, sizes - 1);
  std::byte* at = fresh;
  if (run.depth >= 2) {
    std::byte* tail = run.parts[1].data;
    const auto tail_bytes = static_cast<std::uint64_t>(run.at - tail);
    if (tail_bytes <= size_of(size) / 4 && tail_bytes + bytes <= size_of(size)) {
      emit(run, variable, 1, blocks);
      std::memcpy(fresh, tail, tail_bytes);
      for (int p = 0; p < run.depth; ++p) {
        Part& part = run.parts[static_cast<std::size_t>(p)];
        part.data = fresh + (part.data - tail);
      }
      at += tail_bytes;
    }
  }
  if (at == fresh) {
    emit(run, variable, run.depth, blocks);
  }
  run.at = at;
  run.end = fresh + size_of(size);
  return true;
}

bool SmallPuts::add(const model::Block& part, const Dims& shape,
                    std::vector<model::Block>& blocks) {
  if (part.variable >= runs_.size()) {
    runs_.resize(part.variable + 1);
  }
  if (listed_bytes_ > budget_bytes_) {
    throw Error(Code::over_budget,
                std::to_string(listed_bytes_ / sizeof(model::Block)) +
                    " small parts in one step that do not follow one another: put them in the "
                    "variable's order, or by put_rows");
  }
  Run& run = runs_[part.variable];
  const std::uint64_t bytes = bytes_of(part.box, part.memory.type);
  settle(run);
  join(run);
  const bool differs =
      run.depth > 0 && (run.type != part.memory.type || run.allow_overflow != part.allow_overflow);
  if (differs || run.depth == parts_max) {
    emit(run, part.variable, run.depth, blocks);
  }
  if (run.depth == 0 && run.at != nullptr) {
    const auto room = static_cast<std::uint64_t>(run.end - run.at);
    const auto past = reinterpret_cast<std::uintptr_t>(run.at) % alignment_bytes;
    run.at += std::min(room, past == 0 ? 0 : alignment_bytes - past);
  }
  if (static_cast<std::uint64_t>(run.end - run.at) < bytes &&
      !make_room(run, part.variable, bytes, blocks)) {
    return false;
  }
  run.type = part.memory.type;
  run.rank = shape.rank();
  run.allow_overflow = part.allow_overflow;
  std::memcpy(run.at, part.memory.data, bytes);
  run.parts[static_cast<std::size_t>(run.depth++)] = {part.box, run.at};
  run.at += bytes;
  join(run);
  foresee(run, part.box, shape);
  return true;
}

void SmallPuts::finish(std::vector<model::Block>& blocks) {
  for (std::uint32_t v = 0; v < runs_.size(); ++v) {
    settle(runs_[v]);
    join(runs_[v]);
    emit(runs_[v], v, runs_[v].depth, blocks);
  }
}

void SmallPuts::drop_open() noexcept {
  for (Run& run : runs_) {
    run.left = 0;
    run.taken = 0;
    run.depth = 0;
  }
}

void SmallPuts::forget() noexcept {
  drop_open();
  for (Run& run : runs_) {
    run.at = nullptr;
    run.end = nullptr;
    run.size = std::max(1, run.size - 1);  // about as much as the last step used
  }
  if (mark_.may_be_in_use()) {
    for (int size = 0; size < sizes; ++size) {
      held_bytes_ -= used_[static_cast<std::size_t>(size)].size() * size_of(size);
    }
    mark_.keep_used(used_);
  }
  mark_ = {};
  for (std::size_t size = 0; size < used_.size(); ++size) {
    std::move(used_[size].begin(), used_[size].end(), std::back_inserter(free_[size]));
    used_[size].clear();
  }
  listed_bytes_ = 0;
}

}  // namespace sluice::commit
