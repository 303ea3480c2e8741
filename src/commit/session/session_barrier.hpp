// Barriers among the ranks of a session file, by messages, so that requests of others are served
// meanwhile: every rank tells rank 0 that it has arrived, which releases all.
//
// Invariant: the barriers of a file are numbered from 1, in the same order on every rank.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace sluice::commit {

class SessionBarrier {
 public:
  /// The number of the next barrier of this rank.
  std::uint64_t next() noexcept { return ++last_; }
  bool has_released(std::uint64_t number) const noexcept { return released_ >= number; }
  void release(std::uint64_t number) noexcept { released_ = number; }

  /// Rank 0: rank `from` has arrived at a barrier. Have all `ranks`?
  bool arrive(int from, std::uint64_t number, int ranks) {
    std::set<int>& there = arrived_[number];
    there.insert(from);
    const bool all = there.size() == static_cast<std::size_t>(ranks);
    if (all) {
      arrived_.erase(number);
    }
    return all;
  }
  /// Rank 0: the ranks that have not arrived at the barrier in which others wait.
  std::vector<int> absent(int ranks) const {
    std::vector<int> absent;
    for (int rank = 0; !arrived_.empty() && rank < ranks; ++rank) {
      if (arrived_.begin()->second.count(rank) == 0) {
        absent.push_back(rank);
      }
    }
    return absent;
  }

 private:
  std::uint64_t last_ = 0;
  std::uint64_t released_ = 0;
  std::map<std::uint64_t, std::set<int>> arrived_;
};

}  // namespace sluice::commit
