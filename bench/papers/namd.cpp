// NAMD on Jaguar: 10.6 M atoms of 28 bytes, one file of four stripes. The old way is a chain: each
// writer puts its atoms in order, waits for the token, opens, writes, closes. The new way is that
// of Sluice's plans: all writers at once, whole tiles.
#include <map>

#include "papers.hpp"

namespace papers {

namespace sim = sluice::sim;

namespace {

constexpr double mib = 1 << 20;
constexpr std::uint64_t atoms = 10'600'000;
constexpr std::uint64_t atom_bytes = 28;
constexpr auto all_bytes = static_cast<double>(atoms * atom_bytes);
/// Not in our notes of the paper; more ranks change only the exchange a little.
constexpr int ranks = 1920;
constexpr int nodes = 160;

/// Until every byte is at its target: a writer that is back early has only filled a cache.
double there_s(const sim::Outcome& outcome) { return outcome.durable_s; }

double old_rate(const Machine& machine, int writers) {
  sim::Programs programs(writers, std::min(writers, nodes));
  const auto share = atoms * atom_bytes / static_cast<std::uint64_t>(writers);
  const double collate_s = machine.of_code("collate_s_per_byte") * static_cast<double>(share);
  for (int rank = 0; rank < writers; ++rank) {
    sim::Program& program = programs[rank];
    program = {sim::begin(), sim::compute(collate_s)};
    if (rank != 0) {
      program.push_back(sim::receive(1));
    }
    program.push_back(sim::compute(machine.of_code("token_s")));
    program.push_back(sim::write(0, static_cast<std::uint64_t>(rank) * share, share));
    if (rank + 1 < writers) {
      program.push_back(sim::send(rank + 1, 1));
    }
  }
  return all_bytes / median_s(machine, programs, there_s) / mib;
}

double new_rate(const Machine& machine, int writers) {
  const sim::Job job{ranks, nodes, sim::Cut::slabs, {{{atoms}, atom_bytes, false}}};
  sim::Choice choice;
  choice.strategy = "collective";
  choice.who.writers = writers;
  choice.is_synced = false;
  choice.has_checksums = false;
  choice.is_only_data = true;
  auto compiled = plans(machine, job, choice);
  const double collate_s = machine.of_code("collate_s_per_byte") * all_bytes / writers;
  for (sim::Program& program : compiled.programs.of_rank) {
    for (std::size_t i = 0; i < program.size(); ++i) {
      if (program[i].what == sim::Do::submit) {
        program.insert(program.begin() + static_cast<std::ptrdiff_t>(i), sim::compute(collate_s));
        break;
      }
    }
  }
  return all_bytes / median_s(machine, compiled.programs, there_s) / mib;
}

}  // namespace

Result namd(const Machine& machine) {
  std::map<int, double> old_way;
  std::map<int, double> new_way;
  for (const int writers : {12, 36, 120, 240, 480}) {
    old_way[writers] = old_rate(machine, writers);
    new_way[writers] = new_rate(machine, writers);
  }
  Result result;
  result.rows = {
      {"old, 36 writers, MiB/s", 220, 220, old_way[36], Kind::fitted, ""},
  };
  for (const auto& [writers, rate] : new_way) {
    const std::string count = std::to_string(writers);
    result.rows.push_back({"new, " + count + " writers, MiB/s", 305, 580, rate, Kind::assumed,
                           "four stripes are assumed; the paper gives the range"});
  }
  for (const int writers : {12, 36, 120}) {
    const std::string count = std::to_string(writers);
    result.rows.push_back({"new over old, " + count + " writers", 1.5, 2.5,
                           new_way[writers] / old_way[writers], Kind::checked, ""});
  }
  result.orderings = {
      {"the old way falls: 36, 240, 480 writers, a tenth and more each time",
       old_way[36] > 1.1 * old_way[240] && old_way[240] > 1.1 * old_way[480]},
      {"the new way beats the old one everywhere",
       new_way[12] > old_way[12] && new_way[36] > old_way[36] && new_way[120] > old_way[120] &&
           new_way[480] > old_way[480]},
      {"the new way does not fall with its writers (36 to 480, within a third)",
       new_way[480] > 2.0 / 3 * new_way[36]},
  };
  return result;
}

}  // namespace papers
