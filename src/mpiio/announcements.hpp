// The sizes that ranks tell an aggregator before they exchange bytes with it in some rounds.
//
// Invariants: a rank tells only the aggregators whose windows of these rounds its range meets, and
// an aggregator expects only those ranks: both know the ranges of all. What an aggregator holds is
// of bounded size. A rank announces nothing again before all its aggregators have expected it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpiio/domains.hpp"
#include "mpiio/messages.hpp"
#include "mpiio/view.hpp"

namespace sluice::mpiio {

/// What a rank has in a window.
struct Announced {
  std::int32_t pieces = 0;
  std::int32_t bytes = 0;
};

class Announcements {
 public:
  /// `ranges`: of each rank, the same on all.
  Announcements(MPI_Comm comm, const Domains& domains, std::span<const Run> ranges);

  /// Which aggregator this rank is; -1: none.
  int own() const { return own_; }
  /// How many rounds are announced at once.
  int most_rounds() const;
  /// Of the rounds from `first` up to `last`: this rank has the range `stream` of the view.
  void exchange(int first, int last, const View& view, const Run& stream);
  /// Until all aggregators have expected what this rank has told.
  void wait() { sends_.wait(); }

  /// The aggregators that this rank has told.
  const std::vector<int>& aggregators() const { return aggregators_; }
  /// The ranks that have told this one.
  const std::vector<int>& ranks() const { return ranks_; }
  /// What ranks()[index] has in this rank's window of a round.
  Announced of(std::size_t index, int round) const {
    return theirs_[index * rounds_ + static_cast<std::size_t>(round - first_)];
  }

 private:
  void find_partners(int first, int last);

  const Domains& domains_;
  std::span<const Run> ranges_;
  int rank_ = 0;
  int own_ = -1;
  int first_ = 0;           ///< round
  std::size_t rounds_ = 0;  ///< in each message
  std::vector<int> aggregators_;
  std::vector<int> ranks_;
  std::vector<Announced> mine_;  ///< of all rounds, for each of aggregators_
  std::vector<Announced> theirs_;
  Requests sends_;
  Requests receives_;
};

}  // namespace sluice::mpiio
