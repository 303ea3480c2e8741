// Barriers among the ranks of a session file, by messages, so that requests of others are served
// meanwhile. The ranks form a tree: one that has come, with all below it, tells the one above it;
// rank 0 then releases those below it, and each of them the ones below itself.
//
// A rank that has waited long for ranks below it reports to rank 0 which of them have come, so that
// the timeout there names those that have not. Who is below one that has not come is not known.
//
// Invariants: the barriers of a file are numbered from 1, in the same order on every rank; nobody
// is released before rank 0 has received every report, for it may serve no messages afterwards;
// where no report is needed no rank sends or receives more than 2 tree_width + 2 messages.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "commit/session/session_messages.hpp"

namespace sluice::commit {

class SessionBarrier {
 public:
  /// Ranks directly below one.
  static constexpr int tree_width = 16;

  /// `messages` must outlive the object.
  SessionBarrier(int rank, int ranks, SessionMessages& messages)
      : rank_(rank), ranks_(ranks), messages_(messages) {}

  /// This rank comes to its next barrier, whose number is returned.
  std::uint64_t enter();
  bool has_released(std::uint64_t number) const noexcept { return released_ >= number; }
  /// This rank has waited long in it. Reports once, and whenever another one comes.
  void be_late(std::uint64_t number);

  // Messages of other ranks.
  /// One directly below this rank has come with all below it, which sent so many reports.
  void arrive(int from, std::uint64_t number, std::uint64_t reports);
  void release(std::uint64_t number);
  /// Rank 0: `from` waits for ranks below it; bit i of `come`: for its i-th no more.
  void note_report(int from, std::uint64_t number, std::uint64_t come);

  /// Rank 0: ranks that have not come, unless a moment ago, to the barrier in which others have
  /// waited long.
  std::vector<int> absent() const;

 private:
  /// Who has come to a barrier, as far as this rank was told.
  struct Come {
    bool is_here = false;       ///< this rank
    std::uint64_t below = 0;    ///< bit i: the i-th rank directly below this one, with all below it
    std::uint64_t reports = 0;  ///< that they sent, and this rank
    std::uint64_t received = 0;         ///< rank 0: reports
    std::map<int, std::uint64_t> late;  ///< rank 0: the last report of each rank
  };

  int first_below() const noexcept { return rank_ * tree_width + 1; }
  int count_below() const noexcept;
  void report(std::uint64_t number);
  void look(std::uint64_t number);

  const int rank_;
  const int ranks_;
  SessionMessages& messages_;
  std::uint64_t last_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t late_ = 0;              ///< the last barrier in which this rank was late
  std::map<std::uint64_t, Come> come_;  ///< to barriers that this rank has not told of
};

}  // namespace sluice::commit
