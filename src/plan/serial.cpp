// Rank 0 writes everything; the others send to it in turn through a bounded buffer.
#include <numeric>

#include "plan/plan.hpp"

namespace sluice::plan {

extern const Strategy serial_strategy;

namespace {

RankList only_first(const Topology&, const WriterChoice&) { return RankList::spaced(0, 1, 1); }

Plan plan_serial(const Input& input) {
  constexpr int writer = 0;
  Plan plan;
  plan.strategy = serial_strategy.name;
  plan.flow = Flow::funnel;
  plan.buffer_bytes = 2 * layout::portion_bytes;
  plan.transfers.push_back(everything_to(writer, input));
  if (input.topology.rank == writer) {
    plan.senders.resize(static_cast<std::size_t>(input.topology.ranks - 1));
    std::iota(plan.senders.begin(), plan.senders.end(), 1);
  }
  return plan;
}

}  // namespace

constinit const Strategy serial_strategy{
    .name = "serial",
    .openers = only_first,
    .plan = plan_serial,
};

}  // namespace sluice::plan
