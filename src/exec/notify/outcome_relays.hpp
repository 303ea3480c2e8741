// Who tells whom the outcome of a commit, where there are so many ranks that rank 0 would be busy
// for milliseconds with telling each of them.
//
// Invariants: every rank except rank 0 is told once; rank 0 tells a relay, or, with few ranks,
// every rank; relays are writers, which must call into the library after a commit anyway, and none
// waits for another relay. With r relays rank 0 sends r messages, and each of them at most
// ceil(ranks / r); r is at most ceil(sqrt(ranks)).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <vector>

namespace sluice::exec {

class OutcomeRelays {
 public:
  /// With this many ranks or fewer rank 0 tells all.
  static constexpr int most_direct = 64;

  OutcomeRelays(int ranks, const std::vector<int>& writers) : ranks_(ranks) {
    std::vector<int> others;
    std::copy_if(writers.begin(), writers.end(), std::back_inserter(others),
                 [](int writer) { return writer != 0; });
    std::sort(others.begin(), others.end());
    if (ranks <= most_direct || others.size() < 2) {
      return;
    }
    const auto root = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(ranks))));
    const std::size_t count = std::min(others.size(), root);
    for (std::size_t i = 0; i < count; ++i) {
      relays_.push_back(others[i * others.size() / count]);
    }
  }

  /// The rank that tells `rank`.
  int source_of(int rank) const {
    return relays_.empty() || is_relay(rank) ? 0 : relays_[share_of(rank)];
  }

  /// Whom `rank` tells.
  std::vector<int> told_by(int rank) const {
    std::vector<int> told;
    if (rank == 0 && !relays_.empty()) {
      return relays_;
    }
    if (rank == 0 || is_relay(rank)) {
      for (int other = 1; other < ranks_; ++other) {
        if (source_of(other) == rank) {
          told.push_back(other);
        }
      }
    }
    return told;
  }

 private:
  bool is_relay(int rank) const { return std::binary_search(relays_.begin(), relays_.end(), rank); }
  std::size_t share_of(int rank) const {
    return static_cast<std::size_t>(rank) * relays_.size() / static_cast<std::size_t>(ranks_);
  }

  int ranks_;
  std::vector<int> relays_;  ///< ascending; empty: rank 0 tells all
};

}  // namespace sluice::exec
