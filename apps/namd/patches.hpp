// The atoms that a rank holds: those of its patches, with any ids, different ones in each step.
//
// No physics: ids and positions are computed, so that a file of any size can be compared with the
// expected values, on any number of ranks. Every position is a float32.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace namd {

using Position = std::array<double, 3>;

/// Position of atom `id` at `step`, 0 <= x < 65536.
Position position_of(std::uint64_t id, std::uint64_t step);

/// The atoms of one patch.
struct Patch {
  std::vector<std::uint64_t> ids;
  std::vector<Position> positions;
};

/// All patches of all ranks; patch p is on rank p mod ranks.
class Patches {
 public:
  /// `patches` > 0, of unequal size, some without atoms where they are many.
  Patches(std::uint64_t atoms, std::uint64_t patches, int rank, int ranks);

  std::uint64_t atoms() const noexcept { return atoms_; }
  /// To `step`: atoms move, and some change their patch.
  void advance(std::uint64_t step);
  std::uint64_t step() const noexcept { return step_; }
  /// Those of this rank.
  std::span<const Patch> mine() const noexcept { return mine_; }

 private:
  std::uint64_t first_of(std::uint64_t patch) const;

  std::uint64_t atoms_;
  std::uint64_t patches_;
  std::uint64_t rank_;
  std::uint64_t ranks_;
  std::uint64_t stride_;  ///< has no divisor in common with atoms_
  std::uint64_t step_ = 0;
  std::vector<Patch> mine_;
};

}  // namespace namd
