#include "plan/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::plan {

namespace {

/// Loads of one kind differ by at most a factor of two, which is this factor to either side.
constexpr double about_the_same = 1.4142;
/// The number of recent commits of a candidate that count. More than half of them must be slower
/// before the candidate is considered slower.
constexpr std::size_t most_recent = 9;
/// Before anything else is tried; also the length of a trial.
constexpr std::size_t commits_of_trial = 3;
/// A replacement must save at least a tenth of a commit.
constexpr double better = 0.9;
/// A first commit that takes this many times as long is not explained by noise or by new memory.
constexpr double hopeless = 2;
/// The relative error of the formulas between two candidates is usually smaller than this.
constexpr double doubtful = 3;
/// The factor by which the prediction of an untried candidate is increased.
constexpr double pessimism = 2;

bool is_same(const Candidate& a, const Candidate& b) {
  return a.strategy == b.strategy && a.choice.writers == b.choice.writers &&
         a.choice.cyclic == b.choice.cyclic;
}

bool is_about(double a, double b) { return a <= about_the_same * b && b <= about_the_same * a; }

double bytes_of(const Input& input) { return static_cast<double>(input.bytes); }
double run_bytes_of(const Input& input) { return static_cast<double>(input.mean_run_bytes); }

/// The lower median: noise only adds time.
double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Tuner::Kind* Tuner::find(const Input& input) {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
    return is_about(kind.bytes, bytes_of(input)) && is_about(kind.run_bytes, run_bytes_of(input));
  });
  return found == kinds_.end() ? nullptr : &*found;
}

Tuner::Kind& Tuner::find_or_add(const Input& input) {
  if (Kind* kind = find(input)) {
    return *kind;
  }
  if (kinds_.size() == most_kinds) {
    kinds_.erase(std::min_element(kinds_.begin(), kinds_.end(),
                                  [](const Kind& a, const Kind& b) { return a.used < b.used; }));
  }
  kinds_.push_back({bytes_of(input), run_bytes_of(input)});
  return kinds_.back();
}

/// Seconds of an untried candidate: by the formulas, corrected by the measured error of candidates
/// of the same strategy, else of all.
double Tuner::guess_s(const Candidate& candidate, const Kind& kind) {
  double logarithms = 0;
  int count = 0;
  for (const bool of_relatives : {true, false}) {
    for (const Measured& known : kind.known) {
      if (known.factor > 0 && std::isfinite(known.factor) &&
          (!of_relatives || known.candidate.strategy == candidate.strategy)) {
        logarithms += std::log(known.factor);
        ++count;
      }
    }
    if (count != 0) {
      break;
    }
  }
  return candidate.seconds * std::exp(logarithms / std::max(1, count));
}

void Tuner::begin(Kind& kind, std::size_t known) {
  kind.trial_reason = name_of(kind.known[known].candidate) +
                      " as a trial: time of a commit: " + measured_text(kind);
  kind.on_trial = known;
  ++kind.trials;
}

void Tuner::end(Kind& kind) {
  kind.on_trial.reset();
  kind.reason = name_of(kind.known[kind.taken].candidate) +
                ": measured time of a commit: " + measured_text(kind);
}

/// Starts a trial, if one is worth it and can be afforded: of a known candidate that now seems
/// better than the current one, which has become slower, else of the best one never tried.
bool Tuner::begin_trial(const Input& input, Kind& kind) {
  const double usual_s = kind.known[kind.taken].seconds();
  if (kind.trials == most_trials) {
    return false;
  }
  const auto rival = std::min_element(
      kind.known.begin(), kind.known.end(),
      [](const Measured& a, const Measured& b) { return a.seconds() < b.seconds(); });
  if (rival->seconds() < better * usual_s) {
    begin(kind, static_cast<std::size_t>(rival - kind.known.begin()));
    rival->recent.clear();
    return true;
  }
  if (kind.known.size() == most_candidates) {
    return false;
  }
  const Candidate* best = nullptr;
  double best_s = doubtful * usual_s;
  const std::vector<Candidate> candidates = candidates_of(input);
  for (const Candidate& candidate : candidates) {
    const bool is_known =
        std::any_of(kind.known.begin(), kind.known.end(),
                    [&](const Measured& known) { return is_same(known.candidate, candidate); });
    if (const double seconds = guess_s(candidate, kind); !is_known && seconds <= best_s) {
      best = &candidate;
      best_s = seconds;
    }
  }
  if (best == nullptr || !affords(pessimism * best_s - usual_s)) {
    return false;
  }
  kind.known.push_back({*best});
  begin(kind, kind.known.size() - 1);
  return true;
}

/// Is the next commit of `kind` to be written by the candidate on trial?
bool Tuner::is_on_trial_now(const Input& input, Kind& kind) {
  const Measured& taken = kind.known[kind.taken];
  if (kind.on_trial) {
    const Measured& known = kind.known[*kind.on_trial];
    return known.recent.empty() || affords(known.seconds() - taken.seconds());
  }
  return taken.recent.size() >= commits_of_trial && taken.seconds() >= worth_trying_s &&
         begin_trial(input, kind);
}

Decision Tuner::decide(const Input& input, bool is_sample) {
  pending_.reset();
  ++decisions_;
  Decision by_formulas = plan::decide(input);
  if (Kind* kind = find(input); !is_sample && (kind == nullptr || kind->trials == 0)) {
    return by_formulas;
  }
  Kind& kind = find_or_add(input);
  kind.used = decisions_;
  if (kind.trials == 0 &&
      (kind.known.empty() || !is_same(kind.known[0].candidate, by_formulas.candidate))) {
    kind.known = {Measured{by_formulas.candidate}};
  }
  for (Measured& known : kind.known) {
    known.candidate.seconds = seconds_of(input, known.candidate);
  }
  const bool is_trial = is_sample && is_on_trial_now(input, kind);
  const std::size_t chosen = is_trial ? *kind.on_trial : kind.taken;
  if (is_sample) {
    pending_ = {static_cast<std::size_t>(&kind - kinds_.data()), chosen};
  }
  return {kind.known[chosen].candidate, is_trial              ? kind.trial_reason
                                        : kind.reason.empty() ? std::move(by_formulas.reason)
                                                              : kind.reason};
}

void Tuner::note(double seconds) {
  if (!pending_) {
    return;
  }
  Kind& kind = kinds_[pending_->kind];
  Measured& known = kind.known[pending_->known];
  const bool is_trial = kind.on_trial == pending_->known;
  pending_.reset();
  if (!(seconds > 0)) {
    if (is_trial) {  // an error of a commit must not occur twice because of a trial
      known.factor = std::numeric_limits<double>::infinity();
      end(kind);
    }
    return;
  }
  known.recent.push_back(seconds / known.candidate.seconds);
  if (known.recent.size() > most_recent) {
    known.recent.erase(known.recent.begin());
  }
  known.factor = lower_median(known.recent);
  // Not the seconds themselves: one commit that by chance took very long must not pay for a trial.
  const double usual_s = kind.known[kind.taken].seconds();
  spent_s_ += usual_s;
  if (!is_trial) {
    return;
  }
  lost_s_ += std::max(0.0, seconds - usual_s);
  const bool is_tested = known.recent.size() == commits_of_trial;
  if (is_tested || seconds > hopeless * usual_s) {
    if (is_tested && known.seconds() < better * usual_s) {
      kind.taken = *kind.on_trial;
    }
    end(kind);
  }
}

/// "collective with 2 writers 0.21 s, shared 0.3 s": the current one first.
std::string Tuner::measured_text(const Kind& kind) {
  const Measured& taken = kind.known[kind.taken];
  std::string text = name_of(taken.candidate) + " " + seconds_text(taken.seconds());
  for (const Measured& known : kind.known) {
    if (&known != &taken && !known.recent.empty()) {
      text += ", " + name_of(known.candidate) + " " + seconds_text(known.seconds());
    }
  }
  return text;
}

std::string Tuner::summary() const {
  const auto most =
      std::max_element(kinds_.begin(), kinds_.end(),
                       [](const Kind& a, const Kind& b) { return a.trials < b.trials; });
  return most == kinds_.end() || most->trials == 0 ? "" : measured_text(*most);
}

int Tuner::trials() const {
  int trials = 0;
  for (const Kind& kind : kinds_) {
    trials += kind.trials;
  }
  return trials;
}

}  // namespace sluice::plan
