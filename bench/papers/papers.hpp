// The figures of five papers, reproduced by plans of production on model machines.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/compile.hpp"
#include "sim/engine.hpp"
#include "sim/machine.hpp"

namespace papers {

using sluice::sim::Machine;

/// Why a row agrees with the paper, if it does.
enum class Kind { fitted, checked, assumed };

/// One figure of a paper, and the model's.
struct Row {
  std::string claim;  ///< with its unit
  double low = 0;     ///< of the paper
  double high = 0;    ///< the same; equal where the paper gives one figure
  double model = 0;
  Kind kind = Kind::checked;
  std::string note;  ///< why it does not agree, what was assumed

  /// Model over paper, 1 inside the paper's range.
  double ratio() const;
};

/// The orderings that a paper's figures imply.
struct Ordering {
  std::string claim;
  bool holds = false;
};

struct Result {
  std::vector<Row> rows;
  std::vector<Ordering> orderings;
};

struct Paper {
  const char* name;
  const char* machine;  ///< of share/machines
  const char* plans;    ///< which of them production makes, which were written by hand
  Result (*run)(const Machine& machine);
};

Result vampire(const Machine& machine);
Result namd(const Machine& machine);
Result mfdn(const Machine& machine);
Result parabmu(const Machine& machine);

/// Median over five placements of what `time` says of an outcome.
double median_s(const Machine& machine, const sluice::sim::Programs& programs,
                const std::function<double(const sluice::sim::Outcome&)>& time);
/// Production's plans for a job on the machine's file system.
sluice::sim::Compiled plans(const Machine& machine, const sluice::sim::Job& job,
                            const sluice::sim::Choice& choice);

}  // namespace papers
