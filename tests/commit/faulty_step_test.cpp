// A run of three steps in which one storage call fails, for every call in turn: all ranks get the
// same errors, none hangs, and a program that simply continues (with the next step, or after
// reopening the file if the error says so) ends with the same values as an undisturbed one.
#include <cerrno>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "api/file/file_impl.hpp"
#include "commit/read/input.hpp"
#include "storage/scratch.hpp"
#include "support/faulty_storage.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using storage::Call;

constexpr std::uint64_t all_steps = 3;
constexpr int ranks = 3;
const char* const path = "run.h5";
const Shape shape = {40, 30};  // 9600 bytes of float64: more than a page
const Shape holes = {50};

/// The errors of one rank, in order, as "code: text".
using Story = std::vector<std::string>;

struct Ground {
  std::shared_ptr<storage::MemoryStorage> memory = storage::make_memory();
  std::shared_ptr<storage::Faults> faults = std::make_shared<storage::Faults>();
  std::shared_ptr<storage::Storage> faulty =
      std::make_shared<storage::FaultyStorage>(memory, faults);
  std::vector<Story> stories = std::vector<Story>(ranks);
};

Options options_of(const std::string& strategy) {
  Options options;
  options.strategy = strategy;
  options.durability = Durability::step;
  return options;
}

void put_step(File& out, Variable v, Variable w, int rank) {
  const std::uint64_t s = out.steps();
  Giver<double> giver;
  Giver<float> few;
  Step step = out.begin_step({.time = static_cast<double>(s)});
  giver.put(step, v, s, shape, slab(shape, rank, ranks));
  few.put(step, w, s, holes, {{10 * static_cast<std::uint64_t>(rank) + s}, {3}});
  step.end();
}

/// Opens, writes what is missing, closes; throws if the file must be reopened.
void write_on(Ground& ground, exec::Transport& transport, const std::string& strategy,
              Story& story) {
  const Mode mode = ground.memory->exists(path) ? Mode::append : Mode::write;
  transport.barrier();
  File out(detail::open_on(transport, ground.faulty, path, mode, options_of(strategy)));
  const Variable v = out.define<double>("v", shape, {.steps = true});
  const Variable w = out.define<float>("w", holes, {.steps = true, .partial = true, .fill = -1});
  for (int tries = 0; out.steps() < all_steps && tries < 6; ++tries) {
    try {
      put_step(out, v, w, transport.rank());
    } catch (const Error& error) {
      if (error.code() == Code::wrong_state) {
        throw;
      }
      story.push_back(std::string(code_name(error.code())) + ": " + error.what());
    }
  }
  out.close();
}

void run(Ground& ground, const std::string& strategy) {
  exec::run_local(ranks, 5, [&](exec::Transport& transport) {
    Story& story = ground.stories[static_cast<std::size_t>(transport.rank())];
    for (int attempt = 0; attempt < 4; ++attempt) {
      try {
        write_on(ground, transport, strategy, story);
        return;
      } catch (const Error& error) {
        story.push_back(std::string(code_name(error.code())) + ": " + error.what());
      }
      transport.barrier();
    }
    std::string all;
    for (const std::string& text : story) {
      all += "\n  " + text;
    }
    ADD_FAILURE() << "rank " << transport.rank() << " never got it done:" << all;
  });
}

void expect_golden(Ground& ground) {
  exec::run_local(2, 6, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, ground.memory, path, Mode::read, {}));
    ASSERT_EQ(in.steps(), all_steps);
    for (std::uint64_t s = 0; s < all_steps; ++s) {
      EXPECT_EQ(in.time(s), static_cast<double>(s));
      expect_values<double>(in, "v", s, shape, whole_box(shape), s);
      float got[50];
      in.get(in.find("w"), got, {}, s);
      for (std::uint64_t i = 0; i < 50; ++i) {
        const bool is_put = i >= s && (i - s) % 10 < 3 && i < 23 + s;
        ASSERT_EQ(got[i], is_put ? value_at<float>(s, i) : -1.0f) << "step " << s << " at " << i;
      }
    }
  });
  for (const std::string& name : ground.memory->paths()) {
    EXPECT_TRUE(name.find("sluice-new") == std::string::npos) << name << " was left behind";
  }
}

/// One run with one fault; returns the number of errors of the program.
std::size_t run_with(const std::string& strategy, const storage::Rule& rule) {
  Ground ground;
  ground.faults->add(rule);
  run(ground, strategy);
  EXPECT_LE(ground.faults->fired(), 1u);
  for (const Story& story : ground.stories) {
    EXPECT_EQ(story, ground.stories[0]);
  }
  for (const std::string& text : ground.stories[0]) {
    EXPECT_NE(text.find(path), std::string::npos) << text;
    const std::size_t temporary = text.find("sluice-new: ");
    EXPECT_EQ(temporary, text.find("sluice-new: rename to ")) << text;
  }
  expect_golden(ground);
  return ground.stories[0].size();
}

class Faulty : public testing::TestWithParam<const char*> {};

TEST(FaultyStep, AStepThatIsLeftOutIsSaidWithTheNameOfItsFile) {
  Ground ground;
  ground.faults->add({.call = Call::preallocate, .path_part = path, .error_number = ENOSPC});
  std::string said;
  set_message_handler([&](const std::string& text) { said += text; });
  exec::run_local(1, 1, [&](exec::Transport& transport) {
    Options options = options_of("serial");
    options.on_error = OnError::skip_step;
    File out(detail::open_on(transport, ground.faulty, path, Mode::write, options));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    Step step = out.begin_step();
    Giver<double>().put(step, v, 0, shape, whole_box(shape));
    EXPECT_TRUE(step.end().skipped());
    out.close();
  });
  set_message_handler(nullptr);
  EXPECT_NE(said.find("left out: rank 0: run.h5: reservation"), std::string::npos) << said;
}

TEST(FaultyStep, ACloseThatFailsSaysWhatBecomesOfTheValues) {
  for (const Call call : {Call::preallocate, Call::rename}) {
    Ground ground;
    ground.faults->add({.call = call, .path_part = path, .error_number = EACCES});
    exec::run_local(1, 1, [&](exec::Transport& transport) {
      File out(detail::open_on(transport, ground.faulty, path, Mode::write, options_of("serial")));
      const Variable v = out.define<double>("v", shape);
      Giver<double> giver;
      giver.put(out, v, 0, shape, whole_box(shape));
      const Error error = storage::error_of([&] { out.close(); });
      EXPECT_EQ(error.code(), Code::permission);
      EXPECT_NE(std::string(error.what()).find("what was put after the last commit is not in"),
                std::string::npos)
          << error.what();
    });
    EXPECT_FALSE(ground.memory->exists(path));
  }
}

TEST_P(Faulty, ARunGoesOnAfterAnyCallHasFailed) {
  const std::string strategy = GetParam();
  Ground clean;
  run(clean, strategy);
  ASSERT_TRUE(clean.stories[0].empty()) << clean.stories[0][0];
  expect_golden(clean);
  int reported = 0;
  int runs = 0;
  const int problems[] = {EIO, ENOSPC};
  // The sanitizers make it many times slower, and cover the same code each time.
  const auto fifths = static_cast<std::uint64_t>(case_count(5, 1, 5));
  for (int kind = 0; kind < storage::call_count; ++kind) {
    const Call call = static_cast<Call>(kind);
    const std::uint64_t calls = clean.faults->calls(call);
    for (std::uint64_t nth = 1; nth <= calls; ++nth) {
      if (nth % 5 >= fifths) {
        continue;
      }
      SCOPED_TRACE(std::string(storage::call_name(call)) + " number " + std::to_string(nth));
      storage::Rule rule;
      rule.call = call;
      rule.nth = nth;
      rule.error_number = problems[nth % 2];
      rule.landed_bytes = nth % 3 == 0 ? 5 : 0;
      reported += run_with(strategy, rule) > 0 ? 1 : 0;
      ++runs;
      ASSERT_FALSE(testing::Test::HasFailure()) << "with this call failing";
    }
  }
  EXPECT_GT(runs, 12 * static_cast<int>(fifths));
  EXPECT_GT(reported, runs / 2);  // the others are ignored where that is right
  std::printf("%s: %d runs with a fault, %d met an error\n", strategy.c_str(), runs, reported);
}

TEST_P(Faulty, AFullDiskFailsEveryStepUntilThereIsSpace) {
  Ground ground;
  exec::run_local(ranks, 5, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, ground.faulty, path, Mode::write, options_of(GetParam())));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    const Variable w = out.define<float>("w", holes, {.steps = true, .partial = true, .fill = -1});
    for (int round = 0; round < 3; ++round) {
      put_step(out, v, w, transport.rank());
      transport.barrier();
      if (round < 2 && transport.rank() == 0) {
        ground.faults->add({.call = Call::preallocate, .persistent = true, .error_number = ENOSPC});
      }
      transport.barrier();
      for (int i = 0; i < 3 && round < 2; ++i) {
        try {
          put_step(out, v, w, transport.rank());
          ADD_FAILURE() << "a step on a full disk";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::no_space) << error.what();
        }
      }
      transport.barrier();
      if (transport.rank() == 0) {
        ground.faults->clear();
      }
      transport.barrier();
    }
    out.close();
  });
  expect_golden(ground);
}

TEST_P(Faulty, AFailedLastStepLeavesTheTimeOfTheCommitBefore) {
  Ground ground;
  exec::run_local(ranks, 5, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, ground.faulty, path, Mode::write, options_of(GetParam())));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    const Variable w = out.define<float>("w", holes, {.steps = true, .partial = true, .fill = -1});
    const auto put_and_wait = [&] {
      put_step(out, v, w, transport.rank());
      out.drain(30);
    };
    put_and_wait();
    transport.barrier();
    if (transport.rank() == 0) {
      ground.faults->add({.call = Call::sync, .persistent = true, .error_number = EIO});
    }
    transport.barrier();
    EXPECT_THROW(put_and_wait(), Error);  // its data was written
    transport.barrier();
    if (transport.rank() == 0) {
      ground.faults->clear();
    }
    transport.barrier();
    out.close();
    const commit::Input in(transport, *ground.memory, path, {});
    EXPECT_EQ(in.steps(), 1u);
    EXPECT_FALSE(in.modified_since_commit());
    EXPECT_FALSE(in.is_unfinished());
  });
}

// A program that is killed then leaves a file that nobody has changed since.
TEST_P(Faulty, AFailedStepLeavesTheTimeOfTheCommitBeforeAtOnce) {
  Ground ground;
  exec::run_local(ranks, 5, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, ground.faulty, path, Mode::write, options_of(GetParam())));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    const Variable w = out.define<float>("w", holes, {.steps = true, .partial = true, .fill = -1});
    const auto put_and_wait = [&] {
      put_step(out, v, w, transport.rank());
      out.drain(30);
    };
    const auto present = [&] { return ground.memory->open(path, storage::Access::read); };
    put_and_wait();
    transport.barrier();
    const std::int64_t committed_ns = present()->modified_ns();
    const std::uint64_t committed_bytes = present()->size();
    transport.barrier();
    if (transport.rank() == 0) {
      ground.faults->add({.call = Call::sync, .persistent = true, .error_number = EIO});
    }
    transport.barrier();
    EXPECT_THROW(put_and_wait(), Error);  // its data was written
    transport.barrier();
    if (present()->size() <= committed_bytes) {  // else it is seen that a step was not finished
      EXPECT_EQ(present()->modified_ns(), committed_ns);
    }
    transport.barrier();
    if (transport.rank() == 0) {
      ground.faults->clear();
    }
    transport.barrier();
    out.close();
  });
}

INSTANTIATE_TEST_SUITE_P(Strategies, Faulty, testing::Values("serial", "shared", "forward"),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace sluice::test
