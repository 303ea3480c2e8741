// As collective, but the writers keep their windows and write them while all ranks continue.
#include <algorithm>

#include "plan/plan.hpp"

namespace sluice::plan {

extern const Strategy forward_strategy;

namespace {

/// One being filled, one being written, and one so that a slow write does not stop the packing.
constexpr std::uint64_t fewest_windows = 3;

}  // namespace

std::uint64_t windows_held(const WriterChoice& choice) {
  // A quarter of the budget is for packed data, one window each for sending and receiving.
  const std::uint64_t window = window_bytes(choice);
  const std::uint64_t room = choice.budget_bytes - choice.budget_bytes / 4;
  return std::max(fewest_windows, std::max<std::uint64_t>(room / window, 2) - 2);
}

namespace {

Plan plan_forward(const Input& input) {
  Plan plan = plan_collective(input);
  plan.strategy = forward_strategy.name;
  plan.flow = Flow::async_two_phase;
  plan.gathers = input.choice.gathers;
  plan.space = input.space;
  plan.writer_bytes = std::min(plan.tiles.own_bytes(), input.space.length);
  if (plan.tiles.index_of(input.topology.rank) >= 0) {
    const std::uint64_t most = (plan.tiles.own_bytes() + plan.window_bytes - 1) / plan.window_bytes;
    plan.buffer_bytes += plan.window_bytes * std::min(most, windows_held(input.choice));
  }
  return plan;
}

}  // namespace

constinit const Strategy forward_strategy{
    .name = "forward",
    .openers = writer_list,
    .plan = plan_forward,
    .in_windows = true,
    .in_background = true,
    // Where no thread may write the index once the part is complete: the same windows, written
    // before the call returns.
    .within_part = "collective",
};

}  // namespace sluice::plan
