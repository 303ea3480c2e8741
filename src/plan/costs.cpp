#include "plan/costs.hpp"

#include <algorithm>

namespace sluice::plan {

Load load_of(const Input& input) {
  Load load;
  load.bytes = static_cast<double>(input.bytes != 0 ? input.bytes : input.space.length);
  load.run_bytes = static_cast<double>(std::max<std::uint64_t>(1, input.mean_run_bytes));
  load.ranks = input.topology.ranks;
  load.nodes = input.topology.nodes;
  return load;
}

namespace {

/// The bandwidth that `writers` get from the servers of one file. Where several writers use one
/// server they queue while other servers are idle: a closed network of equal servers.
double rate_of_servers(const MachineRates& rates, double writers, bool is_apart) {
  const double stripes = rates.stripes;
  const double service_s =
      static_cast<double>(rates.stripe_bytes) / (rates.file_bytes_per_s / stripes);
  const double on_way = writers * rates.in_flight;
  const double queue = is_apart ? std::max(0.0, on_way / stripes - 1) : (on_way - 1) / stripes;
  const double turn_s = static_cast<double>(rates.stripe_bytes) / rates.stream_bytes_per_s +
                        rates.rpc_s + service_s * (1 + queue);
  const double rate = on_way * static_cast<double>(rates.stripe_bytes) / turn_s;
  return std::min({rate, rates.file_bytes_per_s, on_way * rates.file_bytes_per_s / stripes});
}

}  // namespace

double write_s(const MachineRates& rates, const Load& load, double writers, bool is_apart) {
  double rate =
      std::min({writers * rates.stream_bytes_per_s,
                std::min(writers, load.nodes) * rates.drain_bytes_per_s, rates.file_bytes_per_s});
  if (rates.stripes != 0) {
    rate = std::min(rate, rate_of_servers(rates, writers, is_apart));
  }
  const double writing_nodes = std::min(writers, load.nodes);
  const double at_a_server =
      is_apart ? std::min(writing_nodes, std::max(1.0, writers / rates.stripes)) : writing_nodes;
  return load.bytes / rate + rates.sync_s + at_a_server * rates.touch_s;
}

double locks_s(const MachineRates& rates, const Load& load, double clients) {
  return load.bytes / load.run_bytes * rates.lock_s / std::min<double>(load.ranks, rates.stripes) +
         (clients - 1) * (rates.lock_s + rates.rpc_s);
}

}  // namespace sluice::plan
