// The automatic choice: closed formulas predict how long each candidate would take to write a
// commit into one file on the detected machine; the fastest is chosen.
//
// Pure, from sums and products only, so the result is the same on every rank. What changes the
// result that a program sees is not chosen: writing in the background, and several files unless
// that was requested at the open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace sluice::plan {

/// A strategy with its choice of writers, and the predicted time.
struct Candidate {
  std::string_view strategy;  ///< of a row, which outlives this
  WriterChoice choice = {};
  double seconds = 0;  ///< from the first byte sent until all are on stable storage
};

/// Predicted seconds of a candidate. `candidate.choice.writers` is the number of writers, if the
/// strategy leaves a choice, or the number of files of a set. Runs of a set are assumed to be long.
double seconds_of(const Input& input, const Candidate& candidate);

/// The candidates that `input.choice` leaves open, with their seconds; the one that sends nothing
/// first.
std::vector<Candidate> candidates_of(const Input& input);

struct Decision {
  Candidate candidate;
  std::string reason;  ///< a sentence
};

/// The bytes that a rank is assumed to write in a commit before that is known.
inline constexpr std::uint64_t assumed_rank_bytes = 32ULL << 20;
inline constexpr std::uint64_t assumed_run_bytes = 1ULL << 20;

/// For an output that may consist of several files, when it is opened: a set of files if that saves
/// at least a tenth of a commit of the assumed load, else the best candidate for one file. Only
/// `input.topology`, `choice` and `rates` are used.
Decision decide_files(const Input& input);

/// The fastest candidate. One that sends bytes must save at least a twentieth.
Decision decide(const Input& input);

/// The plan of each rank for the candidate of `decision`.
Plan plan_of(const Input& input, const Decision& decision);

/// "collective with 4 writers (cyclic)".
std::string name_of(const Candidate& candidate);
/// "0.21 s".
std::string seconds_text(double seconds);

}  // namespace sluice::plan
