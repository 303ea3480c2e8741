#include "plan/machine_rates.hpp"

#include <algorithm>

namespace sluice::plan {

using model::FileSystemFacts;
using model::Reach;

namespace {

constexpr double mega = 1e6;
constexpr double giga = 1e9;
constexpr double micro = 1e-6;
constexpr double milli = 1e-3;

/// Assumed if a parallel file system does not report it.
constexpr std::uint32_t assumed_stripes = 8;
constexpr std::uint64_t assumed_stripe_bytes = 1 << 20;
constexpr std::uint32_t assumed_servers = 8;  ///< the total; no file system reports it
/// The share of a file on one server: part of a fast server, or all of a slow one.
constexpr double server_bytes_per_s = 1 * giga;
/// Under FUSE a user-space program serves the requests, one at a time for each thread.
constexpr double fuse_server_bytes_per_s = 0.2 * giga;
constexpr double fuse_rpc_s = 1 * milli;

/// Measured on two cores, 4 ranks, 8 MiB each, runs from 4 KiB to 1 MiB (docs/strategies.md).
MachineRates local_rates(bool is_memory) {
  MachineRates rates;
  rates.exchange_bytes_per_s = 1.7 * giga;
  rates.exchange_most_bytes_per_s = 40 * giga;
  rates.link_bytes_per_s = 10 * giga;
  rates.barrier_s = 3 * micro;
  rates.stream_bytes_per_s = is_memory ? 1.7 * giga : 2 * giga;
  rates.drain_bytes_per_s = is_memory ? 3.6 * giga : 2.2 * giga;
  // The kernel lets one process at a time write to a file in memory.
  rates.file_bytes_per_s = is_memory ? 1.9 * giga : rates.drain_bytes_per_s;
  rates.files_bytes_per_s = rates.drain_bytes_per_s;
  rates.file_s = is_memory ? 0.1 * milli : 1 * milli;
  rates.call_s = is_memory ? 1 * micro : 10 * micro;
  rates.short_bytes_per_s = is_memory ? 50 * giga : 0.5 * giga;
  rates.sync_s = is_memory ? 0 : 1 * milli;
  return rates;
}

/// Over a network: the rates of share/machines/lustre-today.toml.
MachineRates remote_rates(const FileSystemFacts& facts) {
  MachineRates rates = local_rates(false);
  rates.link_bytes_per_s = 24 * giga;
  rates.stream_bytes_per_s = 2.5 * giga;
  rates.drain_bytes_per_s = 15 * giga;
  rates.short_bytes_per_s = 100 * mega;
  rates.call_s = 100 * micro;
  rates.lock_s = 0.5 * milli;
  rates.touch_s = 0.5 * milli;
  const bool is_parallel = facts.reach == Reach::parallel;
  rates.stripes = !is_parallel ? 1 : facts.stripes != 0 ? facts.stripes : assumed_stripes;
  rates.stripe_bytes = facts.stripe_bytes != 0 ? facts.stripe_bytes : assumed_stripe_bytes;
  const bool is_fuse = facts.kind == model::fuse_kind;
  rates.servers =
      is_parallel && !is_fuse ? std::max(rates.stripes, assumed_servers) : rates.stripes;
  const double server = is_fuse ? fuse_server_bytes_per_s : server_bytes_per_s;
  rates.file_bytes_per_s = rates.stripes * server;
  rates.files_bytes_per_s = rates.servers * server;
  rates.rpc_s = is_fuse ? fuse_rpc_s : 0.2 * milli;
  rates.locks_processes = is_fuse;
  rates.in_flight = is_fuse ? 1 : 8;  // clients in the kernel send ahead of the server's answer
  return rates;
}

/// An object store: the rates of share/machines/s3-today.toml. Every writer adds its own requests;
/// nobody shares or locks anything.
MachineRates object_rates() {
  MachineRates rates = local_rates(false);
  rates.link_bytes_per_s = 3 * giga;
  rates.stream_bytes_per_s = 0.7 * giga;
  rates.drain_bytes_per_s = 3 * giga;
  rates.file_bytes_per_s = rates.files_bytes_per_s = 100 * giga;
  rates.sync_s = 60 * milli;
  return rates;
}

}  // namespace

MachineRates rates_of(const FileSystemFacts& facts, int cores) {
  const bool is_remote = facts.reach == Reach::server || facts.reach == Reach::parallel;
  MachineRates rates = facts.kind == model::object_store_kind ? object_rates()
                       : is_remote                            ? remote_rates(facts)
                                   : local_rates(facts.reach == Reach::memory);
  rates.kind = facts.kind;
  rates.reach = facts.reach;
  rates.cores = std::max(1, cores);
  return rates;
}

}  // namespace sluice::plan
