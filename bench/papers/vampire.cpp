// VAMPIRE on ARCHER: spins of atoms, three numbers each. The paper times the calls that write.
#include <algorithm>

#include "papers.hpp"
#include "plan/groups.hpp"

namespace papers {

namespace sim = sluice::sim;

namespace {

constexpr double gb = 1e9;
constexpr int cores = 24;

sim::Job spins(double bytes, int ranks, int nodes) {
  const auto atoms = static_cast<std::uint64_t>(bytes / (3 * sizeof(double)));
  return {ranks, nodes, sim::Cut::slabs, {{{atoms, 3}, sizeof(double), false}}};
}

sim::Choice bare(const std::string& strategy, int writers) {
  sim::Choice choice;
  choice.strategy = strategy;
  choice.who.writers = writers;
  choice.is_synced = false;
  choice.has_checksums = false;
  choice.is_only_data = true;
  return choice;
}

double slowest(const sim::Outcome& outcome) { return outcome.returned_s; }

/// Seconds until the slowest of `writers` has written its own file. The ranks that only hand over
/// their atoms are left out: the paper does not time that.
double own_files_s(const Machine& machine, double bytes, int writers, int nodes) {
  const sim::Job job = spins(bytes, writers, nodes);
  const auto compiled = plans(machine, job, bare(sluice::plan::per_node, writers));
  return median_s(machine, compiled.programs, slowest);
}

/// Seconds until rank 0 is back from writing one file together; a stripe has one aggregator.
double together_s(const Machine& machine, double bytes, int nodes) {
  sim::Choice choice = bare("collective", static_cast<int>(machine.stripes.value));
  choice.who.cyclic = true;
  const auto compiled = plans(machine, spins(bytes, cores * nodes, nodes), choice);
  return median_s(machine, compiled.programs,
                  [](const sim::Outcome& outcome) { return outcome.ranks[0].returned_s; });
}

double one_writer_s(const Machine& machine, double bytes) {
  const auto compiled = plans(machine, spins(bytes, 1, 1), bare("serial", 0));
  return median_s(machine, compiled.programs, slowest);
}

constexpr const char* range_note = "a range for all numbers of nodes";

}  // namespace

Result vampire(const Machine& machine) {
  const double big = 3 * gb;
  const double small = 24e6;
  const double one = big / one_writer_s(machine, big) / gb;
  const double node_small = small / own_files_s(machine, small, cores, 1) / gb;
  const double node_big = big / own_files_s(machine, big, cores, 1) / gb;
  const double two_nodes = big / own_files_s(machine, big, 2 * cores, 2) / gb;
  std::map<int, double> together;
  for (const int nodes : {1, 2, 64, 512}) {
    together[nodes] = big / together_s(machine, big, nodes) / gb;
  }
  std::map<int, double> per_node;
  for (const int nodes : {64, 128, 256, 512}) {
    per_node[nodes] = big / own_files_s(machine, big, nodes, nodes) / gb;
  }
  const double snapshot_s = own_files_s(machine, 64 * 11.1e6, 64, 64);
  Result result;
  result.rows = {
      {"one writer, 3 GB, GB/s", 0.43, 0.43, one, Kind::fitted,
       "the rate of a stream is this figure"},
      {"24 writers on 1 node, 24 MB, GB/s", 12, 12, node_small, Kind::fitted,
       "by the memory's rate"},
      {"48 writers on 2 nodes, 3 GB, GB/s", 7, 7.5, two_nodes, Kind::fitted,
       "by the rate of a node's drain"},
      {"collective MPI-IO, 3 GB, 2 nodes, GB/s", 1.3, 2, together[2], Kind::checked, range_note},
      {"the same, 64 nodes", 1.3, 2, together[64], Kind::checked, range_note},
      {"the same, 512 nodes", 1.3, 2, together[512], Kind::checked, range_note},
      {"file-per-node, 3 GB, 64 nodes, GB/s", 30, 35, per_node[64], Kind::fitted,
       "by the first touch of a target"},
      {"918 M atoms, 64 files of 11.1 MB, s a snapshot", 0.1, 0.1, snapshot_s, Kind::checked, ""},
  };
  const double small_together = small / together_s(machine, small, 1) / gb;
  const double middle_files = 300e6 / own_files_s(machine, 300e6, cores, 1) / gb;
  const double middle_together = 300e6 / together_s(machine, 300e6, 1) / gb;
  const double run_share = 500 * snapshot_s / (20 * 3600);
  result.orderings = {
      {"file-per-node falls from 64 to 128 to 256 to 512 nodes",
       per_node[64] > per_node[128] && per_node[128] > per_node[256] &&
           per_node[256] > per_node[512]},
      {"collective MPI-IO is flat (within 25 %) from 2 to 512 nodes",
       std::max({together[2], together[64], together[512]}) <
           1.25 * std::min({together[2], together[64], together[512]})},
      {"file-per-node beats collective at 64 nodes, five times and more",
       per_node[64] > 5 * together[64]},
      {"file-per-process beats MPI-IO on 1 node at 24 MB, 300 MB and 3 GB",
       node_small > small_together && middle_files > middle_together && node_big > together[1]},
      {"file-per-process beats MPI-IO on 2 nodes", two_nodes > together[2]},
      {"one writer is the slowest of all", one < together[2] && one < together[512]},
      {"500 snapshots of 918 M atoms are below 1 % of a run of 20 hours", run_share < 0.01},
  };
  return result;
}

}  // namespace papers
