// What a run has learned of the ways to write: `auto` tries other ways with the run's own commits,
// which it may, since where bytes live does not depend on who writes them.
//
// Invariants: values and arithmetic, without a clock, I/O or messages; the same on every rank, as
// long as all are told the same. Bounded: a few kinds of load, a few ways of each, the last few
// commits of a way, and so many trials. Where nothing was tried, the choice is that of decide() in
// plan/auto.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/auto.hpp"

namespace sluice::plan {

class Tuner {
 public:
  /// Of a kind of load, the one that was there first included.
  static constexpr std::size_t most_candidates = 4;
  /// Of a kind of load; each is three commits at most.
  static constexpr int most_trials = 8;
  static constexpr std::size_t most_kinds = 4;
  /// Of all the seconds that commits took so far trials may cost this part.
  static constexpr double trials_part = 0.05;
  /// Nothing is tried where a commit takes less: there noise would decide.
  static constexpr double worth_trying_s = 5e-3;

  /// The way of the next commit. `is_sample`: is it like others, so that its seconds may be
  /// compared with theirs? Only with such a commit is anything tried.
  Decision decide(const Input& input, bool is_sample);
  /// The writing of the commit that was decided on last took so long by one clock, the same on
  /// every rank; 0: it failed, or nobody knows. Ignored where that commit was no sample.
  void note(double seconds);
  /// What was measured of each way, the one that is taken first, for the kind of load of which most
  /// was tried; empty where nothing was.
  std::string summary() const;
  /// How often a way was put to the test.
  int trials() const;

 private:
  /// A way that commits were written by. Seconds are kept as parts of what the formulas say, and so
  /// go for any load of the kind.
  struct Measured {
    Candidate candidate;  ///< its seconds: by the formulas, for the last load
    std::vector<double> recent = {};
    double factor = 0;  ///< median of those, or of earlier ones where a trial has just begun
    double seconds() const { return factor * candidate.seconds; }
  };
  /// Commits of about so many bytes in runs of about so many.
  struct Kind {
    double bytes = 0;
    double run_bytes = 0;
    std::vector<Measured> known = {};
    std::size_t taken = 0;
    std::optional<std::size_t> on_trial = {};
    int trials = 0;
    // Sentences, made once for every trial: nobody is told of every commit's milliseconds.
    std::string reason = {};        ///< of what is taken; empty: the formulas'
    std::string trial_reason = {};  ///< of the last trial
    std::uint64_t used = 0;         ///< the number of the last decision
  };
  struct Pending {
    std::size_t kind = 0;
    std::size_t known = 0;
  };

  Kind* find(const Input& input);
  Kind& find_or_add(const Input& input);
  bool begin_trial(const Input& input, Kind& kind);
  static void begin(Kind& kind, std::size_t known);
  static void end(Kind& kind);
  bool is_on_trial_now(const Input& input, Kind& kind);
  bool affords(double extra_s) const { return lost_s_ + extra_s <= trials_part * spent_s_; }

  static std::string measured_text(const Kind& kind);
  static double guess_s(const Candidate& candidate, const Kind& kind);

  std::vector<Kind> kinds_;
  std::optional<Pending> pending_;
  std::uint64_t decisions_ = 0;
  double spent_s_ = 0;  ///< in samples
  double lost_s_ = 0;   ///< by trials
};

}  // namespace sluice::plan
