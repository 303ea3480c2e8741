// When a checkpoint is due: a value without a clock. Rank 0's decides for all.
#pragma once

#include <cstdint>
#include <string>

#include "model/clock.hpp"
#include "sluice/checkpoint.hpp"

namespace sluice::detail {

/// Seconds of work between two checkpoints that lose the least time, where a checkpoint costs
/// `cost_s` and the job fails every `failure_interval_s` on average: J. T. Daly, "A higher order
/// estimate of the optimum checkpoint interval for restart dumps", Future Generation Computer
/// Systems 22 (2006) 303-312, equation 37; its first term is J. W. Young's, "A first order
/// approximation to the optimum checkpoint interval", Communications of the ACM 17 (1974) 530-531.
double daly_interval_s(double cost_s, double failure_interval_s);

/// Mean time between failures of one node where nothing is known of the machine.
inline constexpr double node_failure_interval_s = 5 * 365.25 * 86400;
/// Cost of a checkpoint before one was measured.
inline constexpr double assumed_cost_s = 1;

/// Seconds since 1970.
inline double wall_clock_s() { return model::from_ns(model::wall_clock_ns()); }

/// When the job ends.
struct EndOfJob {
  double time_s = 0;         ///< since 1970; 0: not known
  std::string ignored = {};  ///< why SLURM_JOB_END_TIME is not taken, where it is set but not used
};
/// By the option or SLURM_JOB_END_TIME. `wall_s`: now, since 1970.
EndOfJob end_of_job(const CheckpointOptions& options, double wall_s);

class Schedule {
 public:
  /// `end_time_s`: when the job ends, on the clock of `wall_s` below; not positive: never.
  Schedule(const CheckpointOptions& options, int nodes, double end_time_s, double now_s);

  enum class Verdict : std::int64_t { not_due = 0, due = 1, last = 2 };
  /// Is one due? `now_s` never goes backwards; `wall_s`: since 1970. To be called once a due().
  Verdict ask(double now_s, double wall_s);
  /// A checkpoint ended at `now_s`; its save() took `cost_s`.
  void note_saved(double now_s, double cost_s);
  /// It failed: the next one is due after a tenth of the interval.
  void note_failed(double now_s);

  /// Seconds from one to the next, 0 where calls alone decide.
  double interval_s() const;
  /// Seconds before the end of the job at which the last one is due.
  double margin_s() const;
  /// What is left of the job's time; `otherwise` where its end is not known.
  double left_s(double wall_s, double otherwise) const;

 private:
  CheckpointOptions options_;
  double failure_interval_s_;
  double end_time_s_;
  double last_s_;  ///< when the last one ended, or the first was waited for
  double cost_s_ = assumed_cost_s;
  bool has_cost_ = false;
  std::uint64_t calls_ = 0;  ///< since then
  double asked_s_;           ///< the last call of ask()
  double longest_gap_s_ = 0;
};

}  // namespace sluice::detail
