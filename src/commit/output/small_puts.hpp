// Small puts: copied at once, and merged with the ones before them if they follow in the variable,
// so that ten million single elements become a few long blocks.
//
// Invariants: the bytes of a part are dense and row-major in one piece of staging memory; the open
// parts of a variable follow one another in memory, and none could be merged with its neighbour,
// except what next() has added since the last merge; nothing is allocated unless a piece of memory
// is full; memory is kept for the next step and never exceeds the budget, except what a message
// that was given up may still use.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "exec/transport/given_up.hpp"
#include "model/block.hpp"

namespace sluice::commit {

class SmallPuts {
 public:
  /// Larger ones are not worth a copy.
  static constexpr std::uint64_t small_bytes = 4096;

  /// `budget_bytes` bounds the staging memory, and once more the list of blocks made of it.
  explicit SmallPuts(std::uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}
  SmallPuts(const SmallPuts&) = delete;
  SmallPuts& operator=(const SmallPuts&) = delete;
  ~SmallPuts() { mark_.keep_used(used_); }

  /// The fast path: accepts a part that starts where the last one of `variable` ends, with the same
  /// type and extent, and returns true; otherwise returns false without effect. Such a part is
  /// inside the shape because its predecessors were. start, count: `rank` numbers; count nullptr:
  /// one element. data: dense.
  bool next(std::uint32_t variable, const Type& type, bool allow_overflow, const void* data,
            int rank, const std::uint64_t* start, const std::uint64_t* count) noexcept;

  /// Any part that was checked against its variable of `shape`; its memory is dense. Blocks that
  /// are complete are appended to `blocks`. False if the budget has no space for its bytes. Error
  /// over_budget if the list of blocks alone would exceed the budget.
  bool add(const model::Block& part, const model::Dims& shape, std::vector<model::Block>& blocks);

  /// Appends what is still open; nothing can be merged with it any more.
  void finish(std::vector<model::Block>& blocks);
  /// Drops what is still open; the memory of the blocks stays.
  void drop_open() noexcept;
  /// The blocks are not needed any more: their memory is reused.
  void forget() noexcept;

  std::uint64_t held_bytes() const noexcept { return held_bytes_; }

 private:
  static constexpr int parts_max = model::max_rank;
  static constexpr int sizes = 6;  ///< of memory: 4 KiB, 16 KiB, .. 4 MiB
  static constexpr std::uint64_t size_of(int size) { return small_bytes << (2 * size); }

  struct Part {
    model::Box box;
    std::byte* data = nullptr;
  };
  /// The open puts of one variable.
  struct Run {
    // the next part must match this to be accepted by next()
    std::uint64_t left = 0;  ///< at most this many of them
    std::byte* at = nullptr;
    std::array<std::uint64_t, model::max_rank> start{};
    std::array<std::uint64_t, model::max_rank> count{};
    Type type;
    bool allow_overflow = false;
    bool is_single = false;  ///< count is all ones
    int rank = 0;
    int axis = 0;
    std::uint64_t part_bytes = 0;
    std::uint64_t taken = 0;  ///< accepted by next(), not yet in parts
    // the open parts
    std::array<Part, parts_max> parts;
    int depth = 0;
    std::byte* end = nullptr;  ///< of the memory at `at`
    int size = 1;              ///< of the next allocation
  };

  static void settle(Run& run);
  static void join(Run& run);
  static void foresee(Run& run, const model::Box& last, const model::Dims& shape);
  void emit(Run& run, std::uint32_t variable, int parts, std::vector<model::Block>& blocks);
  bool make_room(Run& run, std::uint32_t variable, std::uint64_t bytes,
                 std::vector<model::Block>& blocks);
  std::byte* take(int size);

  std::uint64_t budget_bytes_;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t listed_bytes_ = 0;  ///< of blocks
  std::vector<Run> runs_;           ///< one a variable
  using Memory = std::unique_ptr<std::byte[]>;
  std::array<std::vector<Memory>, sizes> free_;
  std::array<std::vector<Memory>, sizes> used_;
  exec::MessageMark mark_;  ///< of when nothing of it was used last
};

inline bool SmallPuts::next(std::uint32_t variable, const Type& type, bool allow_overflow,
                            const void* data, int rank, const std::uint64_t* start,
                            const std::uint64_t* count) noexcept {
  if (variable >= runs_.size()) {
    return false;
  }
  Run& run = runs_[variable];
  if (run.left == 0 || run.rank != rank || run.type != type ||
      run.allow_overflow != allow_overflow || data == nullptr) {
    return false;
  }
  for (int d = 0; d < rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (start[i] != run.start[i]) {
      return false;
    }
    if (count != nullptr && count[i] != run.count[i]) {
      return false;
    }
  }
  if (count == nullptr && !run.is_single) {
    return false;
  }
  if (run.part_bytes == sizeof(double)) {
    std::memcpy(run.at, data, sizeof(double));
  } else {
    std::memcpy(run.at, data, run.part_bytes);
  }
  const auto axis = static_cast<std::size_t>(run.axis);
  run.at += run.part_bytes;
  run.start[axis] += run.count[axis];
  ++run.taken;
  --run.left;
  return true;
}

}  // namespace sluice::commit
