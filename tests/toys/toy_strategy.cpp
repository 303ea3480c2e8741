// A strategy for tests only: as many writers as requested, from the last rank backwards.
#include <algorithm>

#include "sluice/error.hpp"
#include "toys/toys.hpp"

namespace sluice::toys {

namespace {

using namespace plan;

RankList last_ranks(const Topology& topology, const WriterChoice& choice) {
  if (choice.writers < 0 || choice.writers > topology.ranks) {
    throw Error(Code::invalid_argument, "writers: " + std::to_string(choice.writers) + " of " +
                                            std::to_string(topology.ranks) +
                                            " ranks: use 1 to that many, or 0");
  }
  const int count = choice.writers != 0 ? choice.writers : std::min(2, topology.ranks);
  return RankList::spaced(topology.ranks - count, 1, count);
}

/// As `collective`, with other writers.
Plan plan_backwards(const Input& input) {
  const RankList writers = last_ranks(input.topology, input.choice);
  Input mine = input;
  mine.choice.writer_map.clear();
  for (std::size_t i = 0; i < writers.size(); ++i) {
    mine.choice.writer_map += (i == 0 ? "" : ",") + std::to_string(writers[i]);
  }
  Plan plan = plan_collective(mine);
  plan.strategy = toy_strategy.name;
  return plan;
}

}  // namespace

constinit const Strategy toy_strategy{
    .name = "toy-backwards",
    .openers = last_ranks,
    .plan = plan_backwards,
    .in_windows = true,
};

}  // namespace sluice::toys
