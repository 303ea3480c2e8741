// The windows of an exchange: which rank handles which part of the file, and how much at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpiio/hints.hpp"
#include "mpiio/runs.hpp"

namespace sluice::mpiio {

/// Who handles which part of the file: aggregator i the range `domain` bytes long from low + i *
/// domain, window by window. The same on all ranks.
struct Domains {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t domain_bytes = 0;
  std::int64_t window_bytes = 0;
  int aggregators = 1;
  int ranks = 1;

  int rank_of(int aggregator) const {
    return static_cast<int>(std::int64_t{aggregator} * ranks / aggregators);
  }
  /// Of a file with holes that no disk could fill there may be more.
  bool has_countable_rounds() const { return domain_bytes / window_bytes < (1 << 30); }
  int rounds() const { return static_cast<int>((domain_bytes + window_bytes - 1) / window_bytes); }
  /// The window of an aggregator in a round; may be empty.
  Run window(int aggregator, int round) const { return windows(aggregator, round, round + 1); }
  /// Those of the rounds from `first` up to `last` together.
  Run windows(int aggregator, int first, int last) const;
};

/// The rounds in which a rank may have bytes. The same on all ranks.
class BusyRounds {
 public:
  /// `ranges`: of each rank, from its first byte to its last.
  BusyRounds(const Domains& domains, std::span<const Run> ranges);

  /// The first one from `round` on; domains.rounds() if there is none.
  int next(int round) const;
  /// Does any range meet the window?
  bool meets(const Run& window) const { return first_in(window) < window.end(); }

 private:
  /// The first place of `run` that is in a range, or its end.
  std::int64_t first_in(const Run& run) const;

  const Domains& domains_;
  std::vector<Run> ranges_;  ///< ascending, apart from each other
};

/// What limits the size of the windows.
struct Load {
  std::int64_t mean_run = 1;
  std::int64_t most_scattered = 0;  ///< bytes of a rank whose memory is not contiguous
  bool is_one_node = false;         ///< the windows of all may be in its memory
};
/// Of a range of the file.
Domains make_domains(const Run& range, const Load& load, int ranks, const ExchangeHints& hints);

}  // namespace sluice::mpiio
