// What `auto` learns from a run's own commits: on machines whose rates differ from the assumed ones
// it finds the best candidate, and the loss until then is bounded.
#include "plan/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace sluice::plan {
namespace {

using model::FileSystemFacts;
using model::Reach;

constexpr std::uint64_t mib = 1 << 20;
const FileSystemFacts unknown = {};
const FileSystemFacts striped = {"fuse", Reach::parallel, mib, 4};

Input input_of(const FileSystemFacts& facts, int ranks, int nodes, std::uint64_t rank_bytes,
               std::uint64_t run_bytes) {
  Input input;
  input.topology.ranks = ranks;
  input.topology.nodes = nodes;
  input.bytes = rank_bytes * static_cast<std::uint64_t>(ranks);
  input.space = {4096, input.bytes};
  input.mean_run_bytes = run_bytes;
  input.rates = rates_of(facts, 16);
  input.choice.tile_bytes = facts.stripe_bytes != 0 ? facts.stripe_bytes : default_tile_bytes;
  return input;
}

/// A machine that differs from what `auto` assumes.
struct Machine {
  MachineRates rates;
  double shared = 1;      ///< factor on the formulas
  double collective = 1;  ///< the same
  double seconds(const Input& input, const Candidate& candidate) const {
    Input there = input;
    there.rates = rates;
    return seconds_of(there, candidate) * (candidate.strategy == "shared" ? shared : collective);
  }
  double best(const Input& input) const {
    double least = std::numeric_limits<double>::infinity();
    for (const Candidate& candidate : candidates_of(input)) {
      least = std::min(least, seconds(input, candidate));
    }
    return least;
  }
};

/// Factors of up to `most`, as often below 1 as above.
double factor_of(std::mt19937_64& random, double most) {
  return std::pow(most, std::uniform_real_distribution<double>(-1, 1)(random));
}

void make_wrong(MachineRates& rates, std::mt19937_64& random, double most) {
  for (double* rate :
       {&rates.exchange_bytes_per_s, &rates.link_bytes_per_s, &rates.barrier_s,
        &rates.stream_bytes_per_s, &rates.drain_bytes_per_s, &rates.file_bytes_per_s, &rates.call_s,
        &rates.short_bytes_per_s, &rates.sync_s, &rates.rpc_s, &rates.lock_s, &rates.touch_s}) {
    *rate *= factor_of(random, most);
  }
}

/// Of commits: a tenth up or down, and one in thirty up to four times as long.
double noise_of(std::mt19937_64& random) {
  std::uniform_real_distribution<double> part;
  const double mostly = std::exp(std::normal_distribution<double>(0, 0.1)(random));
  return mostly * (part(random) < 1.0 / 30 ? 1 + 3 * part(random) : 1);
}

Input random_input(std::mt19937_64& random) {
  const auto one_of = [&](auto... values) {
    const std::array<std::common_type_t<decltype(values)...>, sizeof...(values)> all{values...};
    return all[random() % all.size()];
  };
  const FileSystemFacts facts = one_of(
      FileSystemFacts{"tmpfs", Reach::memory}, FileSystemFacts{"ext4", Reach::node},
      FileSystemFacts{"nfs", Reach::server}, FileSystemFacts{"lustre", Reach::parallel, mib, 8},
      FileSystemFacts{"lustre", Reach::parallel, mib, 1}, striped, unknown);
  const int nodes = one_of(1, 2, 8, 40);
  return input_of(facts, nodes * one_of(4, 16, 48), nodes, mib * one_of(4U, 32U, 100U),
                  one_of(std::uint64_t{2000}, std::uint64_t{50000}, mib, 8 * mib));
}

struct Course {
  double seconds = 0;              ///< of all commits
  double by_formulas_seconds = 0;  ///< without any trial
  double last_of_best = 0;         ///< the final choice, relative to the best candidate
  double formulas_of_best = 0;
  int trials = 0;
  std::size_t candidates = 0;
};

Course run(const Input& input, const Machine& machine, int commits, std::mt19937_64& random) {
  Tuner tuner;
  Course course;
  const double best = machine.best(input);
  const double by_formulas = machine.seconds(input, decide(input).candidate);
  std::set<std::string> candidates;
  for (int i = 0; i < commits; ++i) {
    const double noise = noise_of(random);
    const Candidate candidate = tuner.decide(input, true).candidate;
    candidates.insert(name_of(candidate));
    course.last_of_best = machine.seconds(input, candidate) / best;
    course.seconds += machine.seconds(input, candidate) * noise;
    course.by_formulas_seconds += by_formulas * noise;
    tuner.note(machine.seconds(input, candidate) * noise);
  }
  course.formulas_of_best = by_formulas / best;
  course.trials = tuner.trials();
  course.candidates = candidates.size();
  return course;
}

struct Spread {
  double mean = 0;
  double p95 = 0;
  double most = 0;
  explicit Spread(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    for (const double value : values) {
      mean += value / static_cast<double>(values.size());
    }
    p95 = values[values.size() * 95 / 100];
    most = values.back();
  }
};

struct Runs {
  std::vector<double> cost;      ///< of all commits, as a part of those without trials
  std::vector<double> end;       ///< Course::last_of_best
  std::vector<double> formulas;  ///< Course::formulas_of_best
};

Runs runs_of(int machines, int commits, double most_of_strategy) {
  Runs runs;
  for (int seed = 0; seed < machines; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const Input input = random_input(random);
    Machine machine{input.rates};
    make_wrong(machine.rates, random, 3);
    machine.shared = factor_of(random, most_of_strategy);
    machine.collective = factor_of(random, most_of_strategy);
    const Course one = run(input, machine, commits, random);
    EXPECT_LE(one.trials, Tuner::most_trials) << "seed " << seed;
    EXPECT_LE(one.candidates, Tuner::most_candidates) << "seed " << seed;
    runs.cost.push_back(one.seconds / one.by_formulas_seconds);
    runs.end.push_back(one.last_of_best);
    runs.formulas.push_back(one.formulas_of_best);
  }
  return runs;
}

TEST(Tuner, ComesToTheBestWayWhereFormulasAreWrong) {
  const Runs runs = runs_of(400, 300, 3);
  EXPECT_GT(Spread(runs.formulas).p95, 2) << "the formulas are wrong, or this tests nothing";
  EXPECT_LT(Spread(runs.end).p95, 1.25);
  EXPECT_LT(Spread(runs.cost).mean, 0.95) << "it is worth it";
}

TEST(Tuner, CostsLittleWhereThereIsNothingToGain) {
  for (const double of_strategy : {1, 3}) {
    for (const int commits : {30, 100, 300}) {
      const Spread cost(runs_of(400, commits, of_strategy).cost);
      std::printf("wrong by 3 and by %.0f: %d commits, mean %.2f, 95 %% below %.2f, worst %.2f\n",
                  of_strategy, commits, cost.mean, cost.p95, cost.most);
      EXPECT_LT(cost.mean, 1.02) << commits;
      EXPECT_LT(cost.p95, of_strategy == 1 || commits > 30 ? 1.06 : 1.1) << commits;
    }
  }
}

TEST(Tuner, OneTrialIsTheMostThatABadGuessCosts) {
  // Every candidate except the current one is twenty times slower than predicted.
  const Input input = input_of(striped, 16, 1, 8 * mib, 50000);
  ASSERT_EQ(decide(input).candidate.strategy, "collective");
  Machine machine{input.rates};
  const int taken = decide(input).candidate.choice.writers;
  Tuner tuner;
  int others = 0;
  for (int i = 0; i < 200; ++i) {
    const Candidate candidate = tuner.decide(input, true).candidate;
    const bool is_other = candidate.strategy != "collective" || candidate.choice.writers != taken;
    others += is_other ? 1 : 0;
    tuner.note(candidate.seconds * (is_other ? 20 : 1));
  }
  EXPECT_EQ(others, 1) << "then it has lost more than a twentieth of 200 commits";
}

/// A mount of four slow servers that reports nothing, so that it is treated as a disk.
Input mistaken_input() { return input_of(unknown, 32, 2, mib, 300000); }

TEST(Tuner, WhatIsUnknownIsFoundOut) {
  const Input input = mistaken_input();
  ASSERT_EQ(decide(input).candidate.strategy, "shared");
  const Machine machine{rates_of(striped, 16)};
  std::mt19937_64 random(1);
  const Course found = run(input, machine, 200, random);
  EXPECT_GT(found.formulas_of_best, 1.2);
  EXPECT_LT(found.last_of_best, 1.05);
  EXPECT_LT(found.seconds, 0.9 * found.by_formulas_seconds);
}

TEST(Tuner, AWriterAServerIsFoundWhereNobodySaysThatThereAreStripes) {
  Input input = mistaken_input();
  input.choice.tile_bytes = striped.stripe_bytes;  // by luck: a mebibyte is common
  const Machine machine{rates_of(striped, 16)};
  Tuner tuner;
  Candidate candidate;
  for (int i = 0; i < 300; ++i) {
    candidate = tuner.decide(input, true).candidate;
    tuner.note(machine.seconds(input, candidate));
  }
  EXPECT_TRUE(candidate.choice.cyclic) << name_of(candidate);
  EXPECT_LT(machine.seconds(input, candidate), 1.05 * machine.best(input)) << name_of(candidate);
  EXPECT_NE(tuner.summary().find(" writers (cyclic) "), std::string::npos) << tuner.summary();
}

/// Commits until `tuner` chooses something other than `way`; at most `most`.
int commits_until_other(Tuner& tuner, const Input& input, const Machine& machine,
                        const Candidate& candidate, int most) {
  for (int i = 0; i < most; ++i) {
    const Candidate now = tuner.decide(input, true).candidate;
    if (now.strategy != candidate.strategy || now.choice.writers != candidate.choice.writers) {
      return i;
    }
    tuner.note(machine.seconds(input, now));
  }
  return most;
}

TEST(Tuner, OnlyCommitsThatAreLikeOthersCount) {
  const Input input = mistaken_input();
  const Machine machine{rates_of(striped, 16)};
  Tuner tuner;
  const Decision formulas = decide(input);
  for (int i = 0; i < 200; ++i) {
    const Decision now = tuner.decide(input, false);
    EXPECT_EQ(now.reason, formulas.reason);
    tuner.note(machine.seconds(input, now.candidate));
  }
  EXPECT_EQ(tuner.trials(), 0);
  EXPECT_EQ(tuner.summary(), "");
}

TEST(Tuner, NothingIsTriedWhereNoiseWouldDecide) {
  const Input input = input_of(unknown, 4, 1, 64 << 10, 4096);
  Tuner tuner;
  for (int i = 0; i < 500; ++i) {
    tuner.decide(input, true);
    tuner.note(1e-3);
  }
  EXPECT_EQ(tuner.trials(), 0);
}

TEST(Tuner, OneLongCommitPaysForNoTrial) {
  const Input input = mistaken_input();
  Tuner tuner;
  for (int i = 0; i < 8; ++i) {
    const Decision now = tuner.decide(input, true);
    tuner.note(now.candidate.seconds * (i == 1 ? 1000 : 1));
  }
  EXPECT_EQ(tuner.trials(), 0);
}

TEST(Tuner, AWayThatFailsIsNotTriedAgain) {
  const Input input = mistaken_input();
  const Machine machine{rates_of(striped, 16)};
  const Candidate taken = decide(input).candidate;
  Tuner tuner;
  std::set<std::string> failed;
  for (int i = 0; i < 300; ++i) {
    const Candidate candidate = tuner.decide(input, true).candidate;
    const bool is_other = candidate.strategy != taken.strategy;
    EXPECT_TRUE(!is_other || failed.insert(name_of(candidate)).second) << name_of(candidate);
    tuner.note(is_other ? 0 : machine.seconds(input, candidate));
  }
  EXPECT_GE(failed.size(), 1U);
}

TEST(Tuner, EveryKindOfLoadHasItsOwnWay) {
  const Input large = input_of(unknown, 32, 2, 8 * mib, 4096);
  const Input small = mistaken_input();
  const Machine machine{rates_of(striped, 16)};
  Tuner tuner;
  double large_s = 0;
  double small_s = 0;
  for (int i = 0; i < 300; ++i) {
    large_s = machine.seconds(large, tuner.decide(large, true).candidate);
    tuner.note(large_s);
    small_s = machine.seconds(small, tuner.decide(small, true).candidate);
    tuner.note(small_s);
  }
  EXPECT_LT(large_s, 1.1 * machine.best(large));
  EXPECT_LT(small_s, 1.1 * machine.best(small));
  // Other loads come and go, and what is kept of them stays bounded.
  for (std::uint64_t bytes = mib / 8; bytes < 4096 * mib; bytes *= 3) {
    const Input other = input_of(unknown, 32, 2, bytes, 8 * mib);
    EXPECT_EQ(tuner.decide(other, true).reason, decide(other).reason) << bytes;
    tuner.note(1);
  }
}

TEST(Tuner, WhatBecomesSlowerIsLeft) {
  const Input input = input_of(unknown, 16, 1, 8 * mib, mib);
  Machine machine{rates_of(unknown, 16)};
  Tuner tuner;
  std::mt19937_64 random(1);
  Candidate candidate;
  for (int i = 0; i < 200; ++i) {
    candidate = tuner.decide(input, true).candidate;
    tuner.note(machine.seconds(input, candidate) * noise_of(random));
  }
  EXPECT_EQ(candidate.strategy, "shared");
  machine.shared = 10;
  EXPECT_LT(commits_until_other(tuner, input, machine, candidate, 50), 50);
  for (int i = 0; i < 20; ++i) {
    candidate = tuner.decide(input, true).candidate;
    tuner.note(machine.seconds(input, candidate) * noise_of(random));
  }
  EXPECT_EQ(candidate.strategy, "collective");
}

TEST(Tuner, IsTheSameOnEveryRankThatIsToldTheSame) {
  Input input = mistaken_input();
  const Machine machine{rates_of(striped, 16)};
  std::vector<Tuner> ranks(3);
  std::mt19937_64 random(7);
  for (int i = 0; i < 150; ++i) {
    const double noise = noise_of(random);
    std::set<std::string> reasons;
    double seconds = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      input.topology.rank = static_cast<int>(rank);
      const Decision here = ranks[rank].decide(input, true);
      reasons.insert(here.reason);
      seconds = machine.seconds(input, here.candidate) * noise;
    }
    ASSERT_EQ(reasons.size(), 1U) << i;
    for (Tuner& tuner : ranks) {
      tuner.note(seconds);
    }
  }
}

TEST(Tuner, SaysWhatItTriesAndWhatWasMeasured) {
  const Input input = mistaken_input();
  const Machine machine{rates_of(striped, 16)};
  Tuner tuner;
  std::vector<std::string> reasons;
  for (int i = 0; i < 200; ++i) {
    const Decision now = tuner.decide(input, true);
    if (reasons.empty() || now.reason != reasons.back()) {
      reasons.push_back(now.reason);
    }
    tuner.note(machine.seconds(input, now.candidate));
  }
  ASSERT_GE(reasons.size(), 3U);
  EXPECT_EQ(reasons[0], decide(input).reason);
  EXPECT_NE(reasons[1].find(" as a trial: time of a commit: shared "), std::string::npos)
      << reasons[1];
  EXPECT_NE(reasons.back().find(": measured time of a commit: collective with "), std::string::npos)
      << reasons.back();
  EXPECT_NE(reasons.back().find(", shared "), std::string::npos) << reasons.back();
  EXPECT_EQ(tuner.summary().rfind("collective with ", 0), 0U) << tuner.summary();
}

}  // namespace
}  // namespace sluice::plan
