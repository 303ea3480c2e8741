// The cost of output for its caller, as one rank sees it: seconds inside the library, and seconds
// in which a commit was in flight while the caller did something else.
//
// Invariants: arithmetic on the times of a clock, without I/O or messages; used by the thread that
// uses the file; has one entry for each commit in flight, which are bounded, and those that were
// not taken yet. Time that several commits share in flight counts once in the total.
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
  double hidden_s = 0;      ///< outside of it, with a commit in flight

  /// Hidden seconds as a share of all time of output.
  double overlap_percent() const;
  double bytes_per_s() const;
};

struct CommitCost {
  bool is_step = false;
  std::uint64_t step = 0;
  double time = std::numeric_limits<double>::quiet_NaN();  ///< as given to begin_step
  bool durable = false;
  bool failed = false;  ///< in flight, after its call had returned
  Cost cost;            ///< visible_s: of its own call
};

/// A strategy that was chosen from what was detected, and its result.
struct Choice {
  std::string reason = {};  ///< of the last one; empty: there was no choice
  bool is_new = false;      ///< not taken yet
  std::uint64_t commits = 0;
  double predicted_s = 0;
  double measured_s = 0;
  std::string tried = {};  ///< the time of a commit for each candidate; empty: nothing was tried
};

class OutputStats {
 public:
  /// The time when a commit was complete, or had failed. 0: it is still in flight.
  struct Outcome {
    double settled_s = 0;
    bool failed = false;
  };
  using Look = std::function<Outcome()>;

  explicit OutputStats(double (*clock)() = model::now_s) : clock_(clock) {}

  /// During its lifetime the caller is inside the library. They may nest.
  class Call {
   public:
    explicit Call(OutputStats* stats);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    OutputStats* stats_;  ///< nullptr: nobody looks
  };

  /// Inside a Call, whose length becomes the commit's visible_s. Without `look` it is complete.
  void add(const CommitCost& commit, Look look);
  /// Commits that will not change any more, oldest first.
  std::vector<CommitCost> take_settled();
  /// The total, up to now inside a Call, else up to the end of the last one.
  Cost total() const;
  std::uint64_t steps() const noexcept { return steps_; }

  /// The strategy was chosen, for this reason.
  void choose(const std::string& reason);
  /// A commit was written by it.
  void compare(double predicted_s, double measured_s);
  const Choice& choice() const noexcept { return choice_; }
  /// Why it was chosen, once for every new reason; else empty.
  std::string take_new_reason();

 private:
  struct OnWay {
    CommitCost commit;
    Look look;
    bool is_new = true;  ///< of the current call
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
/// The report on a chosen strategy at the close: prediction beside measurement, and, if they differ
/// much, what to do.
/// `is_in_objects`: the file is in an object store.
std::string line_of(const Choice& choice, bool is_in_objects);
/// Is the measurement so far above the prediction that it should be reported without request?
bool is_far_off(const Choice& choice);
/// A line of the log beside the file, in JSON, with its line end.
std::string line_of(const CommitCost& commit);

}  // namespace sluice::commit
