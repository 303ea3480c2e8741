// Predictions of the model machine for the cases of `bench/run contended`.
//
//     contended_predict [CONSTANT=VALUE ...]
//
// Of the machine "contended", with constants changed. For every line of standard input, "RANKS ROWS
// RUN STRATEGY WRITERS": ROWS rows of one run of RUN doubles a rank, written to one file. Answers
// each with "SECONDS HAND-OVERS", from the first open until all is durable.
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "sim/advise.hpp"
#include "sluice/error.hpp"

namespace sim = sluice::sim;

namespace {

sim::Machine machine_of(int argc, char** argv) {
  sim::Machine machine = sim::machine_named("contended");
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      throw sluice::Error(sluice::Code::invalid_argument, word + ": say CONSTANT=VALUE");
    }
    constant_of(machine, word.substr(0, equals)).value = std::stod(word.substr(equals + 1));
  }
  return machine;
}

sim::Prediction prediction_of(const sim::Machine& machine, const std::string& line) {
  std::istringstream words(line);
  int ranks = 0;
  std::uint64_t rows = 0;
  std::uint64_t run = 0;
  sim::Choice choice;
  if (!(words >> ranks >> rows >> run >> choice.strategy >> choice.who.writers)) {
    throw sluice::Error(sluice::Code::invalid_argument,
                        "\"" + line + "\": say RANKS ROWS RUN STRATEGY WRITERS");
  }
  choice.is_direct = true;
  choice.who.cyclic = true;
  sim::Described described;
  const sim::Variable field{{rows, static_cast<std::uint64_t>(ranks), run}, sizeof(double), false};
  described.job = {ranks, 1, sim::Cut::columns, {field}};
  return sim::predict(machine, described, choice);
}

}  // namespace

int main(int argc, char** argv) try {
  const sim::Machine machine = machine_of(argc, argv);
  for (std::string line; std::getline(std::cin, line);) {
    const sim::Prediction found = prediction_of(machine, line);
    std::printf("%.6f %llu\n", found.open_s + found.durable_s,
                static_cast<unsigned long long>(found.counts.handovers));
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "contended_predict: %s\n", error.what());
  return 1;
}
