// PARA-BMU on HECToR: a mesh of 31 M nodes. Text through one rank costs what scanning and printing
// cost; binary is written by all ranks into one netCDF file of one stripe.
#include "papers.hpp"

namespace papers {

namespace sim = sluice::sim;

namespace {

constexpr std::uint64_t mesh_nodes = 31'000'000;
constexpr std::uint64_t node_bytes = 32;
constexpr double text_bytes = 567e6;
constexpr double number_bytes = 3.9;  ///< of the text, with its space
constexpr std::uint64_t mesh_bytes = 2'900'000;
constexpr int cores = 32;

double out_s(const Machine& machine, int ranks) {
  const sim::Job job{
      ranks, (ranks - 1) / cores + 1, sim::Cut::slabs, {{{mesh_nodes}, node_bytes, false}}};
  sim::Choice choice;
  choice.strategy = "shared";
  choice.has_checksums = false;
  const auto compiled = plans(machine, job, choice);
  return median_s(machine, compiled.programs,
                  [](const sim::Outcome& outcome) { return outcome.durable_s; });
}

/// Every rank opens the file and reads all of it.
double in_s(const Machine& machine, int ranks) {
  sim::Programs programs(ranks, (ranks - 1) / cores + 1);
  for (int rank = 0; rank < ranks; ++rank) {
    programs[rank] = {sim::open(0), sim::read(0, 0, mesh_bytes)};
  }
  return median_s(machine, programs, [](const sim::Outcome& outcome) { return outcome.durable_s; });
}

}  // namespace

Result parabmu(const Machine& machine) {
  const double text_in_s = text_bytes / number_bytes * machine.of_code("scan_s");
  const double text_out_s = static_cast<double>(mesh_nodes) * machine.of_code("print_s");
  const double compute_s = machine.of_code("compute_s");
  constexpr int ranks = 512;
  // The solver goes as fast as memory does, which the cores of a node share.
  const double solver_s = compute_s / ranks / machine.of_code("memory_share");
  const double alone_s = compute_s + text_in_s + text_out_s;
  const double serial_s = solver_s + text_in_s + text_out_s;
  const double parallel_s = solver_s + in_s(machine, ranks) + out_s(machine, ranks);
  Result result;
  result.rows = {
      {"input at 128, s", 0.4, 0.4, in_s(machine, 128), Kind::assumed,
       "every process reads all 2.9 MB; once a node would be 0.08 s"},
      {"output at 128, s", 7, 7, out_s(machine, 128), Kind::assumed,
       "one stripe; a target as on Jaguar"},
      {"input as text, s", 30, 30, text_in_s, Kind::fitted, "the paper's cost a number"},
      {"output as text, s", 118, 118, text_out_s, Kind::fitted, "the paper's cost a line"},
      {"speed-up at 512 with serial I/O", 22, 22, alone_s / serial_s, Kind::fitted,
       "by the solver's time on one core"},
      {"speed-up at 512 with parallel I/O", 90, 90, alone_s / parallel_s, Kind::assumed,
       "what cores of a node that share its memory get is a guess"},
      {"whole run, serial over parallel I/O, at 512", 7, 7, serial_s / parallel_s, Kind::assumed,
       "the paper's 22 and 90 have a ratio of 4"},
  };
  result.orderings = {
      {"parallel I/O wins at 512", parallel_s < serial_s},
      {"output takes longer than input", out_s(machine, 128) > in_s(machine, 128)},
      {"output does not get faster with more ranks (128 to 512, within a tenth)",
       out_s(machine, 512) > 0.9 * out_s(machine, 128)},
  };
  return result;
}

}  // namespace papers
