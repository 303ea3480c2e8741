// A described run: what its ranks write in every step, and where production would place it.
//
// Invariants: blocks, tiles, portions and runs are made by the functions of layout that production
// calls; every element of a variable belongs to exactly one rank; memory is O(tiles) for placements
// that all ranks share, and O(own portions) for one rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/portion.hpp"
#include "layout/runs.hpp"
#include "plan/plan.hpp"

namespace sluice::sim {

struct Variable {
  model::Dims shape;
  std::uint32_t element_bytes = 8;
  bool is_stepped = true;  ///< otherwise one contiguous array
};

/// The number of slowest dimensions along which the shape is divided among the ranks; `columns`:
/// along the second only, so that every rank has a part of every row.
enum class Cut : std::uint8_t { slabs = 1, pencils = 2, blocks = 3, columns };

struct Job {
  int ranks = 1;
  int nodes = 1;  ///< of equal numbers of consecutive ranks
  Cut cut = Cut::slabs;
  std::vector<Variable> variables;
};

/// The number of ranks along each dimension: their product is `ranks`, and blocks are as near to
/// cubes as its factors allow. Error invalid_argument for a shape of no dimension, or columns of
/// one.
model::Dims rank_grid(const model::Dims& shape, Cut cut, int ranks);
/// The box of one rank; empty for some if a dimension is shorter than the ranks along it.
model::Box block_of(const model::Dims& shape, const model::Dims& grid, int rank);

/// The data that one rank writes in a commit.
struct Share {
  std::vector<layout::Portion> portions;
  std::vector<std::uint64_t> sizes;   ///< packed bytes, one a portion
  std::vector<layout::RunList> runs;  ///< where they lie, one a portion
  std::uint64_t bytes = 0;
  std::uint64_t words = 0;  ///< of checksum records
};

/// The places of a job's variables in one file.
class Arrangement {
 public:
  /// `alignment_bytes`: tiles of 64 KiB and more begin at multiples of it (a stripe, a page).
  Arrangement(const Job& job, std::uint64_t alignment_bytes, bool has_checksums);

  const Job& job() const noexcept { return job_; }
  Share share(int rank) const;
  /// The place of the checksum records of the rank; empty without them.
  layout::Extent words_of(int rank) const;
  /// The range of the data and the checksum records.
  const layout::Extent& space() const noexcept { return space_; }
  const layout::Extent& words_space() const noexcept { return words_space_; }
  std::uint64_t tiles() const;
  std::uint64_t bytes() const;
  /// Of data, over all ranks.
  std::uint64_t mean_run_bytes() const;

 private:
  struct Placed {
    model::Dims grid;
    model::Dims tile;
    layout::Placement placement;
  };
  void count_words(const Placed& placed);
  std::uint64_t place(const Variable& variable, std::uint64_t at, std::uint64_t alignment_bytes);

  Job job_;
  std::vector<Placed> placed_;
  layout::Extent space_;
  layout::Extent words_space_;
  std::vector<std::uint64_t> first_words_;  ///< by rank, and the sum; empty without checksums
};

/// The blocks of `members` one after the other in a part of their own, variable by variable, as
/// parts of a set hold them: for the member of number `index`.
class PartArrangement {
 public:
  PartArrangement(const Job& job, const std::vector<int>& members);

  Share share(std::size_t index) const;
  const layout::Extent& space() const noexcept { return space_; }

 private:
  struct Listed {
    std::vector<std::uint64_t> first;  ///< element of each member, and their sum
    std::uint32_t element_bytes = 8;
    std::uint64_t address = 0;
  };
  std::vector<Listed> listed_;
  layout::Extent space_;
};

}  // namespace sluice::sim
