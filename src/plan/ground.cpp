#include "plan/ground.hpp"

#include <algorithm>

namespace sluice::plan {

using model::FileSystemFacts;
using model::Reach;

namespace {

constexpr double mega = 1e6;
constexpr double giga = 1e9;
constexpr double micro = 1e-6;
constexpr double milli = 1e-3;

/// Where a parallel file system does not say.
constexpr std::uint32_t assumed_stripes = 8;
constexpr std::uint64_t assumed_stripe_bytes = 1 << 20;
constexpr std::uint32_t assumed_servers = 8;  ///< of all files; none says how many it has
/// Of a server for one file: a share of a fast one, or all of a slow one.
constexpr double server_bytes_per_s = 1 * giga;
/// Behind a FUSE a program of the user's answers, one request of a thread at a time.
constexpr double fuse_server_bytes_per_s = 0.2 * giga;
constexpr double fuse_rpc_s = 1 * milli;

/// Measured on two cores, 4 ranks, 8 MiB each, runs from 4 KiB to 1 MiB (docs/strategies.md).
Ground local_ground(bool is_memory) {
  Ground ground;
  ground.exchange_bytes_per_s = 1.7 * giga;
  ground.exchange_most_bytes_per_s = 40 * giga;
  ground.link_bytes_per_s = 10 * giga;
  ground.meeting_s = 3 * micro;
  ground.stream_bytes_per_s = is_memory ? 1.7 * giga : 2 * giga;
  ground.drain_bytes_per_s = is_memory ? 3.6 * giga : 2.2 * giga;
  // The kernel lets one process at a time write a file in memory.
  ground.file_bytes_per_s = is_memory ? 1.9 * giga : ground.drain_bytes_per_s;
  ground.files_bytes_per_s = ground.drain_bytes_per_s;
  ground.file_s = is_memory ? 0.1 * milli : 1 * milli;
  ground.call_s = is_memory ? 1 * micro : 10 * micro;
  ground.short_bytes_per_s = is_memory ? 50 * giga : 0.5 * giga;
  ground.sync_s = is_memory ? 0 : 1 * milli;
  return ground;
}

/// Over a network: as share/machines/lustre-today.toml has it.
Ground remote_ground(const FileSystemFacts& facts) {
  Ground ground = local_ground(false);
  ground.link_bytes_per_s = 24 * giga;
  ground.stream_bytes_per_s = 2.5 * giga;
  ground.drain_bytes_per_s = 15 * giga;
  ground.short_bytes_per_s = 100 * mega;
  ground.call_s = 100 * micro;
  ground.lock_s = 0.5 * milli;
  ground.touch_s = 0.5 * milli;
  const bool is_parallel = facts.reach == Reach::parallel;
  ground.stripes = !is_parallel ? 1 : facts.stripes != 0 ? facts.stripes : assumed_stripes;
  ground.stripe_bytes = facts.stripe_bytes != 0 ? facts.stripe_bytes : assumed_stripe_bytes;
  const bool is_fuse = facts.kind == "fuse";
  ground.servers =
      is_parallel && !is_fuse ? std::max(ground.stripes, assumed_servers) : ground.stripes;
  const double server = is_fuse ? fuse_server_bytes_per_s : server_bytes_per_s;
  ground.file_bytes_per_s = ground.stripes * server;
  ground.files_bytes_per_s = ground.servers * server;
  ground.rpc_s = is_fuse ? fuse_rpc_s : 0.2 * milli;
  ground.locks_processes = is_fuse;
  ground.in_flight = is_fuse ? 1 : 8;  // clients in the kernel send ahead
  return ground;
}

}  // namespace

Ground ground_of(const FileSystemFacts& facts, int cores) {
  const bool is_remote = facts.reach == Reach::server || facts.reach == Reach::parallel;
  Ground ground = is_remote ? remote_ground(facts) : local_ground(facts.reach == Reach::memory);
  ground.kind = facts.kind;
  ground.reach = facts.reach;
  ground.cores = std::max(1, cores);
  return ground;
}

}  // namespace sluice::plan
