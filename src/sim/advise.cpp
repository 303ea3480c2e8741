#include "sim/advise.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "plan/groups.hpp"
#include "sim/flows.hpp"

namespace sluice::sim {

namespace {

/// Within this factor of the best, other properties decide: one file, durable sooner.
constexpr double nearly = 1.1;
/// Simulated at the same time, by all threads: a bound of memory.
constexpr int most_ranks = 500'000;

Prediction predict_once(const Machine& machine, const Described& run, const Compiled& compiled,
                        const Choice& choice, std::uint64_t seed) {
  const Outcome outcome = run_programs(machine, compiled.programs, seed);
  Prediction prediction;
  prediction.choice = choice;
  prediction.strategy = compiled.strategy;
  prediction.writers = compiled.writers;
  prediction.files = compiled.files;
  prediction.buffer_bytes = compiled.largest_buffer_bytes;
  prediction.open_s = outcome.ranks.front().began_s;
  prediction.durable_s = outcome.durable_s;
  // A step that is not finished when the next one ends delays that one.
  prediction.visible_s = std::max(outcome.returned_s, outcome.durable_s - run.period_s);
  prediction.cost_rank_s = prediction.visible_s * run.job.ranks;
  prediction.busiest_target_s = outcome.busiest_target_s;
  prediction.counts = outcome.counts;
  return prediction;
}

std::string seconds(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), value < 0.01 ? "%.1e s" : "%.3g s", value);
  return text.data();
}

std::string percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2g %%", 100 * share);
  return text.data();
}

std::string named(const Prediction& prediction) {
  const bool counts_writers = plan::writes_parts(prediction.choice.strategy) ||
                              plan::strategy(prediction.choice.strategy).in_windows;
  return prediction.strategy +
         (counts_writers ? " with " + std::to_string(prediction.writers) + " writers" : "");
}

/// The dominant part of the time until the bytes are durable.
std::string limit_of(const Machine& machine, const Described& run, const Prediction& chosen) {
  const double of_locks =
      static_cast<double>(chosen.counts.handovers) *
      (machine.lock_callback_s.value + machine.handover_s.value / machine.targets.value);
  const double touches =
      static_cast<double>(chosen.counts.touches) * machine.touch_s.value / machine.targets.value;
  const auto bytes = static_cast<double>(chosen.counts.written_bytes);
  const double streams = bytes / static_cast<double>(std::max<std::uint64_t>(1, chosen.writers)) /
                         machine.stream_bytes_per_s.value;
  const double drains = bytes / run.job.nodes / machine.drain_bytes_per_s.value;
  const std::array<std::pair<double, const char*>, 5> shares{{
      {chosen.busiest_target_s, "the busiest storage target"},
      {streams, "the bandwidth of one writer to the file system"},
      {drains, "the bandwidth of one node to the file system"},
      {touches, "the first request of each node at the targets"},
      {of_locks, "lock transfers between clients"},
  }};
  const auto most = std::max_element(shares.begin(), shares.end());
  return most->first < chosen.durable_s / 4 ? "agreement, messages and metadata" : most->second;
}

std::string why(const Machine& machine, const Described& run, const Advice& advice) {
  const Prediction& chosen = advice.predictions[advice.chosen];
  const Prediction* other = nullptr;
  for (const Prediction& one : advice.predictions) {
    if (one.strategy != chosen.strategy && (other == nullptr || one.visible_s < other->visible_s)) {
      other = &one;
    }
  }
  std::string text =
      named(chosen) + " stops every rank for " + seconds(chosen.visible_s) + " a step";
  if (run.period_s > 0) {
    text += ", " + percent(chosen.visible_s / (run.period_s + chosen.visible_s)) + " of the run";
  }
  if (other != nullptr) {
    text += "; " + named(*other) + " would for " + seconds(other->visible_s) +
            (other->files > 1 ? " and leave " + std::to_string(other->files) + " files" : "");
  }
  text += ". The bytes are durable after " + seconds(chosen.durable_s) +
          ", and the limit of that is " + limit_of(machine, run, chosen) + ".";
  return text;
}

std::size_t pick(const std::vector<Prediction>& all) {
  double best = all.front().visible_s;
  for (const Prediction& one : all) {
    best = std::min(best, one.visible_s);
  }
  const double enough = best * nearly;
  std::size_t chosen = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].visible_s > enough) {
      continue;
    }
    const auto merit = [&](std::size_t n) {
      return std::tuple(all[n].files > 1, all[n].durable_s, all[n].writers);
    };
    chosen = chosen == all.size() || merit(i) < merit(chosen) ? i : chosen;
  }
  return chosen;
}

}  // namespace

Prediction predict(const Machine& machine, const Described& run, const Choice& choice) {
  const Compiled compiled = compile(run.job, choice, facts_of(machine));
  std::vector<Prediction> all;
  for (const std::uint64_t seed : run.seeds) {
    all.push_back(predict_once(machine, run, compiled, choice, seed));
  }
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end(), [](const Prediction& a, const Prediction& b) {
    return a.durable_s < b.durable_s;
  });
  return *middle;
}

namespace {

/// Empty if few writers have so much to write that all ranks would spend most of the time in
/// barriers.
std::optional<Prediction> predict_if_modelled(const Machine& machine, const Described& run,
                                              const Choice& choice) {
  try {
    return predict(machine, run, choice);
  } catch (const Error& e) {
    if (e.code() != Code::unsupported) {
      throw;
    }
    return std::nullopt;
  }
}

/// In the order of `choices`, by as many threads as there are cores.
class Predictions {
 public:
  Predictions(const Machine& machine, const Described& run, const std::vector<Choice>& choices,
              const AdviceProgress& progress)
      : machine_(machine), run_(run), choices_(choices), progress_(progress) {}

  std::vector<std::optional<Prediction>> all() {
    found_.resize(choices_.size());
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const int others = std::clamp(most_ranks / std::max(1, run_.job.ranks), 1, cores) - 1;
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(others));
    for (int i = 0; i < others; ++i) {
      threads.emplace_back([this] { work(); });
    }
    work();
    for (std::thread& thread : threads) {
      thread.join();
    }
    if (failure_) {
      std::rethrow_exception(failure_);
    }
    return std::move(found_);
  }

 private:
  void work() {
    while (const std::optional<std::size_t> i = next()) {
      std::optional<Prediction> prediction;
      std::exception_ptr failure;
      try {
        prediction = predict_if_modelled(machine_, run_, choices_[*i]);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      found_[*i] = std::move(prediction);
      failure_ = failure_ ? failure_ : failure;
      ++done_;
      if (progress_) {
        progress_(done_, choices_.size());
      }
    }
  }

  /// None after a failure.
  std::optional<std::size_t> next() {
    const std::lock_guard lock(mutex_);
    return failure_ || next_ == choices_.size() ? std::nullopt : std::optional(next_++);
  }

  const Machine& machine_;
  const Described& run_;
  const std::vector<Choice>& choices_;
  const AdviceProgress& progress_;
  std::mutex mutex_;
  std::vector<std::optional<Prediction>> found_;
  std::exception_ptr failure_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

std::vector<Choice> candidates(const Machine& machine, const Described& run) {
  Choice base;
  base.is_direct = run.is_direct;
  base.is_synced = run.is_synced;
  base.who.budget_bytes = run.budget_bytes;
  std::vector<Choice> all;
  for (const plan::Strategy* row : plan::strategies()) {
    if (!row->chooses && !row->in_windows) {
      base.strategy = row->name;
      all.push_back(base);
    }
  }
  const auto stripes = static_cast<int>(machine.stripes.value);
  std::set<int> counts;
  for (const int count : {1, stripes, run.job.nodes, 4 * run.job.nodes, 4 * stripes}) {
    counts.insert(std::min(count, run.job.ranks));
  }
  // If a file has stripes, each stripe should always have the same writer.
  base.who.cyclic = stripes > 1;
  for (const plan::Strategy* row : plan::strategies()) {
    base.strategy = row->name;
    for (const int count : counts) {
      base.who.writers = count;
      if (!row->chooses && row->in_windows) {
        all.push_back(base);
      }
    }
  }
  return all;
}

Advice advise(const Machine& machine, const Described& run, const AdviceProgress& progress) {
  std::vector<Choice> all = candidates(machine, run);
  Choice left_open;
  left_open.is_direct = run.is_direct;
  left_open.is_synced = run.is_synced;
  left_open.who.budget_bytes = run.budget_bytes;
  all.push_back(left_open);
  left_open.may_be_several = true;
  all.push_back(left_open);
  std::vector<std::optional<Prediction>> found = Predictions(machine, run, all, progress).all();
  Advice advice;
  advice.automatic_of_any = std::move(found.back());
  found.pop_back();
  advice.automatic = std::move(found.back());
  found.pop_back();
  for (std::optional<Prediction>& prediction : found) {
    if (prediction) {
      advice.predictions.push_back(std::move(*prediction));
    }
  }
  advice.chosen = pick(advice.predictions);
  advice.why = why(machine, run, advice);
  return advice;
}

}  // namespace sluice::sim
