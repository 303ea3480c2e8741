// Every storage call of a run that writes a set is made to fail once: all ranks get the same error,
// a step that failed is not in the file, one that did not is, and the previous file stays until the
// first commit.
#include <cerrno>
#include <cstdio>

#include "parts/sets.hpp"
#include "support/faulty_storage.hpp"
#include "support/outcomes.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

constexpr int ranks = 3;
constexpr std::uint64_t attempts = 3;    // steps; then close
constexpr std::uint64_t few_calls = 40;  // of a kind: all are made to fail
const Shape shape{9, 2};
const Shape old_shape{5, 2};
const std::string in_doubt = "is known only after reopening it";

enum class Start : std::uint8_t { fresh, over_set, over_plain, append };

struct Way {
  std::string name;
  Options options;
};

std::vector<Way> ways() {
  std::vector<Way> all{{"file-per-process", SetKind{}.options()},
                       {"file-per-node", SetKind{"file-per-node", 2}.options()},
                       {"split", SetKind{"shared"}.options()},
                       {"keep", SetKind{"file-per-process"}.options()},
                       {"forward keep", SetKind{"forward", 2}.options()}};
  all[2].options.split_steps = 1;
  all[3].options.keep_last = 2;
  all[4].options.keep_last = 2;
  for (Way& way : all) {
    way.options.durability = Durability::step;
  }
  return all;
}

struct Trial {
  std::shared_ptr<storage::MemoryStorage> disk = storage::make_memory();
  std::shared_ptr<storage::Faults> faults = std::make_shared<storage::Faults>();
  Outcomes outcomes{ranks};
};

void write_steps(exec::Transport& transport, const std::shared_ptr<storage::Storage>& storage,
                 const Options& options, Mode mode, std::vector<std::string>& outcomes) {
  std::optional<File> out;
  if (!attempt(outcomes,
               [&] { out.emplace(open_file(transport, storage, "out.h5", mode, options)); })) {
    return;
  }
  const Shape& whole = mode == Mode::append ? old_shape : shape;
  const Variable v = out->define<double>("v", whole, {.steps = true});
  for (std::uint64_t k = 1; k <= attempts; ++k) {
    Giver<double> giver;
    attempt(outcomes, [&] {
      Step step = out->begin_step({.time = static_cast<double>(k)});
      giver.put(step, v, 100 + k, whole, slab(whole, transport.rank(), ranks));
      step.end().wait();
    });
  }
  attempt(outcomes, [&] { out->close(); });
}

/// `call` fails for the nth time that it is made; 0: none does.
Trial run(const Way& way, Start start, storage::Call call, std::uint64_t nth) {
  Trial trial;
  if (start != Start::fresh) {
    Options options = way.options;
    options.durability = Durability::none;
    if (start == Start::over_plain) {
      options = SetKind{"serial"}.options();
    }
    write_set(2, trial.disk, "out.h5", options, {.shape = old_shape, .steps = 1, .slabs = true});
  }
  if (nth != 0) {
    trial.faults->add({.call = call, .nth = nth, .error_number = nth % 2 == 0 ? EIO : ENOSPC});
  }
  on_ranks(
      ranks,
      [&](exec::Transport& transport) {
        const auto faulty = std::make_shared<storage::FaultyStorage>(trial.disk, trial.faults);
        write_steps(transport, faulty, way.options,
                    start == Start::append ? Mode::append : Mode::write,
                    trial.outcomes[static_cast<std::size_t>(transport.rank())]);
      },
      77);
  return trial;
}

/// The keys of the steps that must be in the file.
std::vector<std::uint64_t> expected_of(const Trial& trial, const Way& way, Start start) {
  const auto& outcomes = trial.outcomes[0];
  std::vector<std::uint64_t> keys;
  bool is_new = false;
  for (std::uint64_t k = 1; k < outcomes.size() && k <= attempts; ++k) {
    const bool is_there = outcomes[k].empty() || outcomes[k].find(in_doubt) != std::string::npos;
    if (is_there) {
      keys.push_back(100 + k);
      is_new = true;
    }
  }
  if (start != Start::fresh && (start == Start::append || !is_new)) {
    keys.insert(keys.begin(), 100);
  }
  if (way.options.keep_last != 0 && keys.size() > way.options.keep_last) {
    keys.erase(keys.begin(), keys.end() - static_cast<std::ptrdiff_t>(way.options.keep_last));
  }
  return keys;
}

void check(const Trial& trial, const Way& way, Start start) {
  for (const auto& outcomes : trial.outcomes) {
    ASSERT_EQ(outcomes, trial.outcomes[0]);
  }
  int failures = 0;
  for (std::size_t i = 0; i < trial.outcomes[0].size(); ++i) {
    const std::string& outcome = trial.outcomes[0][i];
    EXPECT_EQ(outcome.find("timeout"), std::string::npos) << outcome;
    failures += outcome.empty() || outcome.find("reopen") != std::string::npos ? 0 : 1;
    if (outcome.find(in_doubt) != std::string::npos) {
      // Only where another file had the name, which the first commit took from it.
      EXPECT_TRUE(start == Start::over_set || start == Start::over_plain) << outcome;
      EXPECT_EQ(i, 1u) << outcome;
    }
  }
  EXPECT_LE(failures, 1) << "one fault, and more than one call failed";
  const std::vector<std::uint64_t> keys = expected_of(trial, way, start);
  if (keys.empty()) {
    // A File without a step is there if it was closed.
    return;
  }
  on_ranks(1, [&](exec::Transport& transport) {
    File in = open_file(transport, trial.disk, "out.h5", Mode::read, {});
    ASSERT_EQ(in.steps(), keys.size());
    for (std::uint64_t step = 0; step < keys.size(); ++step) {
      const Shape& whole = start == Start::append || keys[0] == 100 ? old_shape : shape;
      expect_values<double>(in, "v", keys[step], whole, whole_box(whole), step);
    }
  });
}

/// Sweeps one strategy and start; returns the number of trials.
std::uint64_t sweep(const Way& way, Start start, std::uint64_t every) {
  const Trial clean = run(way, start, storage::Call::read, 0);
  check(clean, way, start);
  for (const std::string& outcome : clean.outcomes[0]) {
    EXPECT_EQ(outcome, "");
  }
  std::uint64_t trials = 0;
  for (std::size_t c = 0; c < storage::call_count; ++c) {
    const auto call = static_cast<storage::Call>(c);
    const std::uint64_t calls = clean.faults->calls(call);
    // If there are few of a kind, all are tried, and those that decide whether a commit succeeds.
    const bool decides = call == storage::Call::rename || call == storage::Call::sync_directory;
    const std::uint64_t stride = decides || calls < few_calls ? 1 : every;
    for (std::uint64_t nth = 1; nth <= calls; nth += stride) {
      const Trial trial = run(way, start, call, nth);
      check(trial, way, start);
      ++trials;
      if (testing::Test::HasFailure()) {
        std::printf("%s, start %d, %s %llu of %llu\n", way.name.c_str(), static_cast<int>(start),
                    storage::call_name(call), static_cast<unsigned long long>(nth),
                    static_cast<unsigned long long>(calls));
        for (const auto& outcomes : trial.outcomes) {
          for (const std::string& outcome : outcomes) {
            std::printf("  %s\n", outcome.c_str());
          }
        }
        return trials;
      }
    }
  }
  return trials;
}

TEST(PartsFaults, EveryStorageCallMayFail) {
  const auto every = static_cast<std::uint64_t>(is_long() ? 1 : 61);
  std::uint64_t trials = 0;
  for (const Way& way : ways()) {
    for (const Start start : {Start::fresh, Start::over_set, Start::over_plain, Start::append}) {
      if (way.name == "keep" && start == Start::over_plain) {
        continue;  // as with file-per-process
      }
      trials += sweep(way, start, every);
      ASSERT_FALSE(HasFailure());
    }
  }
  std::printf("%llu trials\n", static_cast<unsigned long long>(trials));
}

}  // namespace
}  // namespace sluice::test
