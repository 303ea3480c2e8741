// Predicts the cost of each strategy for a described run on a model machine, and recommends one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/compile.hpp"
#include "sim/engine.hpp"
#include "sim/machine.hpp"

namespace sluice::sim {

struct Prediction {
  Choice choice;
  std::string strategy;  ///< the choice of auto
  std::uint64_t writers = 0;
  std::uint64_t files = 0;
  std::uint64_t buffer_bytes = 0;  ///< largest staging memory of a rank
  double open_s = 0;               ///< once: until every rank has opened the file
  double durable_s = 0;            ///< of a step, from the call that ends it to stable storage
  double visible_s = 0;    ///< seconds that a step costs the ranks, with steps `period_s` apart
  double cost_rank_s = 0;  ///< ranks x visible
  double busiest_target_s = 0;
  Counts counts;
};

/// A run as described to the planner.
struct Described {
  Job job;
  double period_s = 0;  ///< of computation between two steps
  bool is_direct = false;
  bool is_synced = true;
  std::uint64_t budget_bytes = 256ULL << 20;
  std::vector<std::uint64_t> seeds = {1};  ///< of placements; the results are medians over them
};

/// One choice: the median over the seeds by durable_s. Errors of compile().
Prediction predict(const Machine& machine, const Described& run, const Choice& choice);

/// Every strategy, with several numbers of writers if it leaves a choice.
std::vector<Choice> candidates(const Machine& machine, const Described& run);

struct Advice {
  std::vector<Prediction> predictions;
  std::size_t chosen = 0;  ///< index into predictions
  /// The choice of `auto`, which excludes some candidates; empty if the model refuses it.
  std::optional<Prediction> automatic;
  std::optional<Prediction> automatic_of_any;  ///< the same with files = "allow_multiple"
  std::string why;                             ///< two sentences
};

/// Called with how many choices are predicted, of how many; by one thread at a time. May be empty.
using AdviceProgress = std::function<void(std::size_t, std::size_t)>;

/// Predicts all candidates except those with too many rounds for the model, and picks one. By a
/// thread for each core.
Advice advise(const Machine& machine, const Described& run, const AdviceProgress& progress);

}  // namespace sluice::sim
