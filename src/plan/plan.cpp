#include "plan/plan.hpp"

#include <numeric>

namespace sluice::plan {

std::uint64_t count_writers(const Strategy& strategy, const Topology& topology,
                            const WriterChoice& choice) {
  const auto ranks = strategy.writers != nullptr ? strategy.writers : strategy.openers;
  return ranks(topology, choice).size();
}

RankList all_ranks(const Topology& topology, const WriterChoice&) {
  return RankList::spaced(0, 1, topology.ranks);
}

Transfer everything_to(int writer, const Input& input) {
  Transfer transfer;
  transfer.writer = writer;
  transfer.portions.resize(input.portions.size());
  std::iota(transfer.portions.begin(), transfer.portions.end(), 0U);
  transfer.bytes =
      std::accumulate(input.portion_sizes.begin(), input.portion_sizes.end(), std::uint64_t{0});
  return transfer;
}

std::string Plan::text() const {
  std::string text = strategy + ": buffer " + std::to_string(buffer_bytes) + " bytes, " +
                     std::to_string(senders.size()) + " senders\n";
  for (const Transfer& transfer : transfers) {
    text += "  to rank " + std::to_string(transfer.writer) + ": " +
            std::to_string(transfer.portions.size()) + " portions, " +
            std::to_string(transfer.bytes) + " bytes\n";
  }
  if (flow == Flow::two_phase || flow == Flow::async_two_phase) {
    text += "  " + tiles.text() + ", windows of " + std::to_string(window_bytes) + " bytes\n";
  }
  return text;
}

}  // namespace sluice::plan
