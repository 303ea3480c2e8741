// Every rank writes its own extents into the one file, independently.
#include <algorithm>

#include "plan/costs.hpp"

namespace sluice::plan {

extern const Strategy shared_strategy;

namespace {

/// Shorter runs are written by the rank itself, one after the other (exec/write/file_sink).
constexpr std::uint64_t short_run_bytes = 256ULL << 10;
/// Of all ranks of a node: so much the page cache takes without waiting for the disk. Measured on
/// ext4, 4 ranks, runs of 1 to 64 KiB, durable steps: `collective` is slower by a millisecond for
/// less, and equal for this.
constexpr double cached_step_bytes = 4 << 20;

Plan plan_shared(const Input& input) {
  Plan plan;
  plan.strategy = shared_strategy.name;
  plan.flow = Flow::direct;
  plan.buffer_bytes = 2 * layout::portion_bytes;
  plan.transfers.push_back(everything_to(input.topology.rank, input));
  return plan;
}

/// Every rank writes its own runs. Short ones wait for the disk one by one. Where one ends inside a
/// stripe, the neighbour takes the stripe over, which a server does for one at a time. At the end
/// all write their checksums into one stripe.
double shared_s(const Input& input, const Candidate&) {
  const MachineRates& rates = input.rates;
  const Load load = load_of(input);
  double seconds = write_s(rates, load, load.ranks, false);
  const double clients = rates.locks_processes ? load.ranks : load.nodes;
  if (rates.stripes != 0) {
    // The stripe of the checksums, which the ranks of all clients request in any order.
    seconds =
        std::max(seconds, (load.ranks - 1) * (1 - 1 / clients) * (rates.lock_s + rates.rpc_s));
  }
  const double own_bytes = load.bytes / load.ranks;
  const bool is_cached =
      rates.reach == model::Reach::node && load.bytes < cached_step_bytes * load.nodes;
  if (!is_cached && load.run_bytes < static_cast<double>(short_run_bytes) &&
      load.run_bytes < own_bytes) {
    const double calls_s =
        own_bytes / load.run_bytes * rates.call_s + own_bytes / rates.short_bytes_per_s;
    // In memory a rank packs and makes calls while others write to the file.
    seconds = rates.reach == model::Reach::memory
                  ? std::max(seconds, own_bytes / rates.stream_bytes_per_s + calls_s)
                  : seconds + calls_s;
  }
  if (rates.stripes != 0 && load.ranks > 1) {
    seconds += locks_s(rates, load, clients);
  }
  return seconds;
}

std::vector<Candidate> candidates_of_shared(const Input& input) {
  return {{shared_strategy.name, input.choice, 0}};
}

}  // namespace

constinit const Strategy shared_strategy{
    .name = "shared",
    .openers = all_ranks,
    .plan = plan_shared,
    .candidates = candidates_of_shared,
    .seconds = shared_s,
};

}  // namespace sluice::plan
