// What the ranks of a collective access tell each other before it, and whether they exchange bytes.
//
// Invariants: all ranks know the same and decide alike. One reduction says what most calls need;
// the ranges of all ranks are gathered only where the decision or the exchange depends on them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "mpiio/domains.hpp"
#include "mpiio/pattern.hpp"
#include "mpiio/runs.hpp"

namespace sluice::mpiio {

struct File;

/// The part of one rank in an access; combined, that of many. MPI reduces it: all are int64.
struct Summary {
  std::int64_t error_class = MPI_SUCCESS;
  std::int64_t ranks = 0;  ///< that have bytes
  std::int64_t bytes = 0;
  std::int64_t runs = 0;
  std::int64_t low = std::numeric_limits<std::int64_t>::max();  ///< in the file
  std::int64_t high = std::numeric_limits<std::int64_t>::min();
  std::int64_t file_bytes = 0;
  std::int64_t most_scattered = 0;  ///< bytes of a rank whose memory is not contiguous
  std::int64_t least_alignment_log2 = std::numeric_limits<int>::max();
  std::int64_t is_ascending = 1;
  std::int64_t is_in_order = 1;  ///< no rank has a byte before one of a lower rank

  Run range() const { return ranks == 0 ? Run{} : Run{low, high - low}; }
  /// Adds ranks that precede all of these. Associative, but not commutative.
  void add_before(const Summary& earlier);
};

/// Of all ranks. Collective.
Summary summary_of_all(const File& file, const Summary& own);

/// Whether an access exchanges bytes, and what with.
class Choice {
 public:
  /// `all`: of which no rank has failed. Collective.
  Choice(const File& file, bool is_write, const Summary& own, const Summary& all);

  bool exchanges() const { return exchanges_; }
  /// For the record, of a write. Exact if the report is wanted.
  Written written() const {
    return {all_.bytes, all_.runs, interleaves_, static_cast<int>(all_.least_alignment_log2)};
  }
  /// Of an access that exchanges.
  Domains domains(const File& file) const;
  /// Of each rank; empty if nobody needs them.
  const std::vector<Run>& ranges() const { return ranges_; }

 private:
  std::int64_t mean_run() const;
  bool may_exchange(const File& file) const;
  void gather(const File& file, const Run& own);

  bool is_write_;
  Summary all_;
  bool exchanges_ = false;
  bool interleaves_ = false;
  std::vector<Run> ranges_;
};

}  // namespace sluice::mpiio
