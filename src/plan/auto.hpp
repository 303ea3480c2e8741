// The choice for those who leave it: what each way to write a commit into one file would take on
// the machine that was detected, by closed formulas, and the least of them.
//
// Pure, by sums and products alone, so the same on every rank. Ways that change what a program
// sees are not among them: writing in the background, and, unless it is asked for when the output
// is opened, several files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace sluice::plan {

/// A way to write, and what it would take.
struct Candidate {
  std::string_view strategy;  ///< of a row: lives as long
  WriterChoice choice = {};
  double seconds = 0;  ///< from the first byte sent to the last one stable
};

/// Seconds of one way. `way.choice.writers` is how many write, where the strategy leaves a choice,
/// or how many files a set has. Of a set runs are taken to be long.
double seconds_of(const Input& input, const Candidate& candidate);

/// The ways that `input.choice` leaves open, with their seconds; the one that sends nothing first.
std::vector<Candidate> candidates_of(const Input& input);

struct Decision {
  Candidate candidate;
  std::string reason;  ///< a sentence
};

/// What a rank is taken to write at a time, where nobody knows yet.
inline constexpr std::uint64_t assumed_rank_bytes = 32ULL << 20;
inline constexpr std::uint64_t assumed_run_bytes = 1ULL << 20;

/// For an output that may come to several files, when it is opened: a set of files
/// where that saves at least a tenth of a commit of the assumed load, else the best
/// way into one file. Only `input.topology`, `choice` and `rates` are looked at.
Decision decide_files(const Input& input);

/// The way of the least seconds. One that sends bytes must save a twentieth at least.
Decision decide(const Input& input);

/// What each rank does where the ranks write by the way of `decision`.
Plan plan_of(const Input& input, const Decision& decision);

/// "collective with 4 writers (cyclic)".
std::string name_of(const Candidate& candidate);
/// "0.21 s".
std::string seconds_text(double seconds);

}  // namespace sluice::plan
