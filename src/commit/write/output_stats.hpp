// What output costs its caller, as one rank sees it: seconds inside the library, and seconds in
// which a commit was on its way while the caller did something else.
//
// Invariants: arithmetic on the times of a clock, without I/O or messages; used by the thread that
// uses the file; holds one entry for each commit on its way, which are bounded, and those that were
// not taken yet. Time that several commits share while they are on their way counts once in the
// total.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "model/clock.hpp"

namespace sluice::commit {

/// Of one commit, or of all.
struct Cost {
  std::uint64_t bytes = 0;  ///< that were put
  double visible_s = 0;     ///< inside the library
  double waiting_s = 0;     ///< the part of it that went into waiting for staging memory
  double hidden_s = 0;      ///< outside of it, with something on its way

  /// Hidden seconds as a part of all that output took.
  double overlap_percent() const;
  double bytes_per_s() const;
};

struct CommitCost {
  bool is_step = false;
  std::uint64_t step = 0;
  double time = std::numeric_limits<double>::quiet_NaN();  ///< as given to begin_step
  bool durable = false;
  bool failed = false;  ///< on its way, after its call had returned
  Cost cost;            ///< visible_s: of its own call
};

/// A strategy that was chosen from what was detected, and what came of it.
struct Choice {
  std::string reason = {};  ///< of the last one; empty: there was nothing to choose
  bool is_new = false;      ///< nobody has taken it yet
  std::uint64_t commits = 0;
  double predicted_s = 0;
  double measured_s = 0;
  std::string tried = {};  ///< what a commit took by each way; empty: nothing was tried
};

class OutputStats {
 public:
  /// What became of a commit: when it was there, or had failed. 0: it is still on its way.
  struct Outcome {
    double settled_s = 0;
    bool failed = false;
  };
  using Look = std::function<Outcome()>;

  explicit OutputStats(double (*clock)() = model::now_s) : clock_(clock) {}

  /// As long as it lives the caller is inside the library. They may nest.
  class Call {
   public:
    explicit Call(OutputStats* stats);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    OutputStats* stats_;  ///< nullptr: nobody looks
  };

  /// Inside a Call, whose length becomes the commit's visible_s. Without `look` it is there.
  void add(const CommitCost& commit, Look look);
  /// Commits of which nothing will change any more, oldest first.
  std::vector<CommitCost> take_settled();
  /// Of everything, up to now inside a Call, else up to the end of the last one.
  Cost total() const;
  std::uint64_t steps() const noexcept { return steps_; }

  /// The strategy was chosen, for this reason.
  void choose(const std::string& reason);
  /// A commit was written by it.
  void compare(double predicted_s, double measured_s);
  const Choice& choice() const noexcept { return choice_; }
  /// Why it was chosen, once for every reason that differs from the one before; else empty.
  std::string take_new_reason();

 private:
  struct OnWay {
    CommitCost commit;
    Look look;
    bool is_new = true;  ///< of the call under way
  };
  void enter();
  void leave();

  double (*clock_)();
  int depth_ = 0;
  double entered_s_ = 0;
  double left_s_ = 0;
  Cost total_;
  std::uint64_t steps_ = 0;
  std::deque<OnWay> on_way_;
  Choice choice_;
};

/// The line at a close: "12 steps, 1.5 GiB: visible 0.41 s ...".
std::string line_of(const Cost& total, std::uint64_t steps, bool durable);
/// What of a chosen strategy is worth telling at the close: prediction beside measurement, and,
/// where they are far apart, what to do.
std::string line_of(const Choice& choice);
/// Is the measurement so far above the prediction that it should be told unasked?
bool is_far_off(const Choice& choice);
/// A line of the log beside the file, in JSON, with its end.
std::string line_of(const CommitCost& commit);

}  // namespace sluice::commit
