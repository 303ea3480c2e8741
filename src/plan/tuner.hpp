// What a run has measured of the candidates: `auto` tries others with the run's own commits, which
// is possible because the place of bytes does not depend on who writes them.
//
// Invariants: values and arithmetic, without a clock, I/O or messages; the same on every rank if
// all get the same input. Bounded: a few kinds of load, a few candidates for each, the last few
// commits of a candidate, and a fixed number of trials. Where nothing was tried, the choice is that
// of decide() in plan/auto.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/auto.hpp"

namespace sluice::plan {

class Tuner {
 public:
  /// For a kind of load, the initial candidate included.
  static constexpr std::size_t most_candidates = 4;
  /// For a kind of load; each takes at most three commits.
  static constexpr int most_trials = 8;
  static constexpr std::size_t most_kinds = 4;
  /// The share of all seconds spent in commits so far that trials may cost.
  static constexpr double trials_part = 0.05;
  /// Nothing is tried if a commit takes less: noise would decide.
  static constexpr double worth_trying_s = 5e-3;

  /// The candidate of the next commit. `is_sample`: is it like others, so that its seconds may be
  /// compared with theirs? Trials are made only with such commits.
  Decision decide(const Input& input, bool is_sample);
  /// The seconds that the last commit decided on took to write, by one clock, the same on every
  /// rank; 0: it failed, or they are unknown. Ignored if that commit was not a sample.
  void note(double seconds);
  /// The measurements of each candidate, the current one first, for the kind of load with the most
  /// trials; empty if nothing was tried.
  std::string summary() const;
  /// The number of trials.
  int trials() const;

 private:
  /// A candidate by which commits were written. Seconds are kept relative to the formulas, so that
  /// they apply to any load of the kind.
  struct Measured {
    Candidate candidate;  ///< its seconds are those of the formulas, for the last load
    std::vector<double> recent = {};
    double factor = 0;  ///< median of those, or of earlier ones if a trial has just begun
    double seconds() const { return factor * candidate.seconds; }
  };
  /// Commits of about this size, in runs of about this length.
  struct Kind {
    double bytes = 0;
    double run_bytes = 0;
    std::vector<Measured> known = {};
    std::size_t taken = 0;
    std::optional<std::size_t> on_trial = {};
    int trials = 0;
    // Sentences, made once for every trial: not every commit is reported.
    std::string reason = {};        ///< for the current candidate; empty: the formulas' reason
    std::string trial_reason = {};  ///< for the last trial
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
  double lost_s_ = 0;   ///< spent on trials
};

}  // namespace sluice::plan
