// Writes to a file that are held in memory, byte by byte: later ones replace what they touch of
// earlier ones.
//
// Invariant: runs do not overlap and are keyed by their first byte; adjacent runs need not be
// merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace sluice::model {

class Overlay {
 public:
  using Runs = std::map<std::uint64_t, std::vector<std::byte>>;

  /// Where memory is missing (std::bad_alloc) nothing has changed.
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// As a run of its own, where it touches none.
  void adopt(std::uint64_t offset, std::vector<std::byte> bytes);
  /// Applies the overlay to `bytes`, which represent the file from `offset` on.
  void read_over(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// Is any byte of [offset, offset + length) in the overlay?
  bool touches(std::uint64_t offset, std::uint64_t length) const;
  const Runs& runs() const noexcept { return runs_; }
  std::uint64_t held_bytes() const noexcept { return held_bytes_; }
  void clear() { take_runs(); }
  /// Empties the overlay.
  Runs take_runs() {
    held_bytes_ = 0;
    return std::exchange(runs_, {});
  }

 private:
  /// The first run that ends after `offset`.
  Runs::const_iterator first_after(std::uint64_t offset) const;

  Runs runs_;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace sluice::model
