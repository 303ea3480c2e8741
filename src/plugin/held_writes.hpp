// Bytes that were written but are not in their place in the file yet: in memory up to a budget,
// beyond it in a file that has no name any more.
//
// Invariants: what was written last is what is read; memory and the file hold at most twice what
// lies in them plus a few budgets, whatever is written again; the file is gone with the process.
// The memory of long runs is used again: touching new memory takes longer than copying.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/overlay.hpp"
#include "plugin/fresh_ranges.hpp"
#include "storage/storage.hpp"

namespace sluice::plugin {

class HeldWrites {
 public:
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };

  /// `spill_path`: where the file is made that takes what is beyond `budget_bytes`.
  HeldWrites(storage::Storage& storage, std::string spill_path, std::uint64_t budget_bytes);

  /// Where it throws (the spill file cannot be written) the bytes are held all the same if they
  /// are in memory already; else nothing has changed.
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Lays what is held over `bytes`, which stand for the file from `offset` on.
  void read_over(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// Is any byte of [offset, offset + length) held?
  bool touches(std::uint64_t offset, std::uint64_t length) const;
  /// What is held of [offset, offset + length), where all of it lies together in memory; else
  /// empty. Until the next write.
  std::span<const std::byte> view(std::uint64_t offset, std::uint64_t length) const;
  bool is_empty() const { return memory_.runs().empty() && spilled_.empty(); }
  std::uint64_t memory_bytes() const noexcept { return memory_.held_bytes(); }
  std::uint64_t spilled_bytes() const noexcept { return spilled_bytes_; }
  /// Writes what is held from `from` on to its place, and tells `written`.
  void write_to(storage::File& file, std::uint64_t from, FreshRanges& written) const;
  /// What is held, ascending, adjacent ranges joined, none longer than `most_bytes`.
  std::vector<Range> ranges(std::uint64_t most_bytes) const;
  void clear();
  /// Drops what is held from `from` on.
  void drop_from(std::uint64_t from);

 private:
  struct Spilled {
    std::uint64_t length = 0;
    std::uint64_t at = 0;  ///< in the spill file
  };

  void put_in_memory(std::uint64_t offset, std::span<const std::byte> bytes);
  void spill();
  void put_spilled(std::uint64_t offset, std::span<const std::byte> bytes);
  void cut_spilled(std::uint64_t offset, std::uint64_t length);
  void compact();
  void open_spill();

  storage::Storage& storage_;
  const std::string spill_path_;
  const std::uint64_t budget_bytes_;
  model::Overlay memory_;                      ///< newer than what is spilled
  std::vector<std::vector<std::byte>> spare_;  ///< memory of long runs that were cleared
  std::map<std::uint64_t, Spilled> spilled_;
  std::uint64_t spilled_bytes_ = 0;
  std::uint64_t spill_end_ = 0;
  std::unique_ptr<storage::File> spill_;
};

/// Takes [offset, offset + length) out of `ranges`.
void cut(std::vector<HeldWrites::Range>& ranges, std::uint64_t offset, std::uint64_t length);

}  // namespace sluice::plugin
