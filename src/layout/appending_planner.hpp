// The common part of planners that only ever append: allocation at increasing addresses, and the
// states after each commit.
//
// Invariant: space is never allocated twice, not even after abandon() while it is in use.
#pragma once

#include <algorithm>
#include <vector>

#include "layout/commit_history.hpp"
#include "layout/layout.hpp"
#include "model/round_up.hpp"

namespace sluice::layout {

/// All of a step, or of a fixed variable, contiguous at `address`.
Placement in_one_piece(std::uint32_t variable, const model::Definition& definition,
                       const model::Dims& shape, std::uint64_t address);

/// `State`: the state after a commit; it has at least `end`, the end of the allocated space, and
/// `steps`.
template <class State>
class AppendingPlanner : public Planner {
 public:
  const std::vector<model::Definition>& known() const override { return definitions_; }
  std::uint64_t steps() const override { return state_.steps; }
  std::uint64_t committed_end() const override { return history_.last().end; }
  void define(const model::Definition& definition) override { definitions_.push_back(definition); }
  void planned() override { history_.plan(state_); }
  void committed() override { history_.commit(); }
  void abandon() override { state_ = history_.abandon(); }

 protected:
  AppendingPlanner(storage::File& file, const PlannerOptions& options)
      : file_(file), options_(options) {}

  /// Allocates this many bytes; large ranges are aligned as the options ask.
  std::uint64_t take(std::uint64_t bytes) {
    constexpr std::uint64_t word_bytes = 8;
    const bool is_large = bytes >= options_.threshold_bytes;
    const std::uint64_t unit =
        is_large ? std::max(options_.alignment_bytes, word_bytes) : word_bytes;
    const std::uint64_t address = model::round_up(state_.end, unit);
    if (__builtin_add_overflow(address, bytes, &state_.end)) {
      throw Error(Code::no_space, file_.path() + ": the file would exceed 64-bit offsets");
    }
    return address;
  }

  storage::File& file_;
  PlannerOptions options_;
  std::vector<model::Definition> definitions_;
  State state_;  ///< with the commit being planned
  CommitHistory<State> history_;
};

}  // namespace sluice::layout
