// `keep` (only the last steps stay) and `split` (a new part after so many steps or bytes), with the
// strategies that write one file and those that write many.
#include "commit/read/latest_good.hpp"
#include "commit/tools/verify.hpp"
#include "parts/sets.hpp"

namespace sluice::test {
namespace {

using storage::MemoryStorage;

const std::vector<std::string>& strategies() {
  static const std::vector<std::string> all{"serial",  "shared",           "collective",
                                            "forward", "file-per-process", "file-per-node"};
  return all;
}

constexpr int ranks = 4;

Options options_of(const std::string& strategy, std::uint64_t keep, std::uint64_t split_steps) {
  Options options;
  options.strategy = strategy;
  options.writers =
      strategy == "collective" || strategy == "forward" || strategy == "file-per-node" ? 2 : 0;
  options.durability = Durability::step;
  options.keep_last = keep;
  options.split_steps = split_steps;
  return options;
}

std::uint64_t groups_of(const std::string& strategy) {
  return strategy == "file-per-process" ? ranks : strategy == "file-per-node" ? 2 : 1;
}

/// Parts on the disk, journals and leases not counted.
std::size_t count_parts(const MemoryStorage& storage) {
  std::size_t count = 0;
  for (const std::string& path : storage.paths()) {
    count += path.find(".parts/") != std::string::npos && path.ends_with(".h5") ? 1 : 0;
  }
  return count;
}

/// The file holds the steps from `first` up to `end`, numbered from 0.
void expect_steps(const std::shared_ptr<MemoryStorage>& storage, std::uint64_t first,
                  std::uint64_t end) {
  on_ranks(3, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    ASSERT_EQ(in.steps(), end - first);
    const Shape shape{12, 5};
    for (std::uint64_t step = 0; step < in.steps(); ++step) {
      EXPECT_EQ(in.time(step), 0.5 * static_cast<double>(first + step));
      expect_values<double>(in, "v", 100 + first + step, shape,
                            slab(shape, transport.rank(), transport.size()), step);
    }
    const commit::Verdict verdict = commit::verify(transport, *storage, "out.h5");
    EXPECT_EQ(verdict.state, commit::State::ok);
    EXPECT_EQ(verdict.uncovered_count, 0u);
  });
}

TEST(Keep, OnlyTheLastStepsStayAndTheirFiles) {
  for (const std::string& strategy : strategies()) {
    SCOPED_TRACE(strategy);
    const auto storage = storage::make_memory();
    const std::uint64_t groups = groups_of(strategy);
    on_ranks(ranks, [&](exec::Transport& transport) {
      File out = open_file(transport, storage, "out.h5", Mode::write, options_of(strategy, 2, 0));
      const Variable v = out.define<double>("v", {12, 5}, {.steps = true});
      for (std::uint64_t k = 0; k < 7; ++k) {
        Giver<double> giver;
        Step step = out.begin_step({.time = 0.5 * static_cast<double>(k)});
        giver.put(step, v, 100 + k, {12, 5}, slab({12, 5}, transport.rank(), ranks));
        Ticket ticket = step.end();
        EXPECT_EQ(ticket.step(), std::min<std::uint64_t>(k, 1));
        ticket.wait();
        EXPECT_EQ(out.steps(), std::min<std::uint64_t>(k + 1, 2));
        // Those of the last two steps, and of the one before: a reader may still use it.
        EXPECT_LE(count_parts(*storage), 3 * groups);
        transport.barrier();
        if (transport.rank() == 0 && k > 0) {
          expect_steps(storage, k - 1, k + 1);
        }
        transport.barrier();
      }
      out.close();
    });
    EXPECT_EQ(count_parts(*storage), 2 * groups);
    expect_steps(storage, 5, 7);
  }
}

TEST(Keep, ALaterRunGoesOnAndRestartsFromAKeptStep) {
  for (const std::string& strategy : strategies()) {
    SCOPED_TRACE(strategy);
    const auto storage = storage::make_memory();
    Options options = options_of(strategy, 3, 0);
    write_set(ranks, storage, "out.h5", options, {.steps = 5, .slabs = true});
    on_ranks(2, [&](exec::Transport& transport) {  // steps 2, 3, 4 are there as 0, 1, 2
      Options again = options;
      again.strategy = "auto";
      again.restart_after = 1;
      File out = open_file(transport, storage, "out.h5", Mode::append, again);
      EXPECT_EQ(out.steps(), 2u);
      Steps{.first = 4, .steps = 4, .slabs = true}.write(out, transport);
      out.close();
    });
    expect_steps(storage, 5, 8);
    EXPECT_LE(count_parts(*storage), 3 * groups_of(strategy));
  }
}

TEST(Keep, FixedVariablesAndRareOnesStay) {
  const auto storage = storage::make_memory();
  on_ranks(ranks, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, options_of("shared", 2, 3));
    const Variable fixed = out.define<double>("fixed", {9});
    const Variable scalar = out.define<double>("scalar", {});
    const Variable rare = out.define<double>("rare", {4}, {.steps = true, .partial = true});
    Giver<double> giver;
    giver.put(out, fixed, 9, {9}, slab({9}, transport.rank(), ranks));
    const double value = 4.25;
    if (transport.rank() == 0) {
      out.put(scalar, &value);
    }
    out.flush();
    const Variable v = out.define<double>("v", {12, 5}, {.steps = true});
    const std::vector<double> four(4, 6.5);
    for (std::uint64_t k = 0; k < 12; ++k) {
      Giver<double> own;
      Step step = out.begin_step({.time = 0.5 * static_cast<double>(k)});
      own.put(step, v, 100 + k, {12, 5}, slab({12, 5}, transport.rank(), ranks));
      if (transport.rank() == 1 && (k == 6 || k == 8 || k == 11)) {
        step.put(rare, four.data());
      }
      step.end();
    }
    out.close();
  });
  expect_steps(storage, 10, 12);
  on_ranks(2, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    expect_values<double>(in, "fixed", 9, {9}, whole_box({9}));
    double scalar = 0;
    in.get(in.find("scalar"), &scalar);
    EXPECT_EQ(scalar, 4.25);
    std::vector<double> rare(4);
    in.get(in.find("rare"), rare.data(), {}, 1);
    EXPECT_EQ(rare, std::vector<double>(4, 6.5));
    in.get(in.find("rare"), rare.data(), {}, 0);
    EXPECT_NE(rare, std::vector<double>(4, 6.5));
  });
  // What is fixed has a part of its own, so that the first steps could go.
  EXPECT_LE(count_parts(*storage), 3u);
}

/// A group that is idle for longer than steps are kept continues in the part that it has open.
TEST(Keep, AGroupThatRestsLosesNothing) {
  const auto storage = storage::make_memory();
  on_ranks(2, [&](exec::Transport& transport) {
    File out =
        open_file(transport, storage, "out.h5", Mode::write, options_of("file-per-process", 2, 6));
    const Variable v = out.define<double>("v", {2}, {.steps = true, .partial = true, .fill = -1});
    for (std::uint64_t k = 0; k < 6; ++k) {
      const double value = static_cast<double>(10 * k) + transport.rank();
      Step step = out.begin_step();
      if (transport.rank() == 0 || k == 0 || k == 5) {
        step.put(v, &value,
                 {.start = {static_cast<std::uint64_t>(transport.rank())}, .count = {1}});
      }
      step.end();
    }
    out.close();
  });
  on_ranks(1, [&](exec::Transport& transport) {
    File in = open_file(transport, storage, "out.h5", Mode::read, {});
    ASSERT_EQ(in.steps(), 2u);
    std::vector<double> got(2);
    in.get(in.find("v"), got.data(), {}, 0);
    EXPECT_EQ(got, (std::vector<double>{40, -1}));
    in.get(in.find("v"), got.data(), {}, 1);
    EXPECT_EQ(got, (std::vector<double>{50, 51}));
  });
}

TEST(Keep, WhatARunThatDiedHadDroppedIsRemovedByTheNext) {
  const auto storage = storage::make_memory();
  const Options options = options_of("shared", 2, 0);
  std::shared_ptr<MemoryStorage> died;  // as it was after step 4, not closed
  on_ranks(ranks, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::write, options);
    Steps{.steps = 5, .slabs = true}.write(out, transport);
    transport.barrier();
    if (transport.rank() == 0) {
      died = storage->clone();
    }
    transport.barrier();
    out.close();
  });
  EXPECT_EQ(count_parts(*died), 3u);
  // One that was complete, but not in the index yet, and one of another set.
  const std::vector<std::string> paths = died->paths();
  const std::string part = *std::find_if(paths.begin(), paths.end(), [](const std::string& path) {
    return path.find(".parts/") != std::string::npos && path.ends_with(".h5");
  });
  const std::size_t digits = part.rfind('-') + 1;
  died->put(part.substr(0, digits) + "000077.h5", died->contents(part));
  const std::string stranger = "out.h5.parts/0123456789abcdef-000001.h5";
  died->put(stranger, died->contents(part));
  on_ranks(ranks, [&](exec::Transport& transport) {
    File out = open_file(transport, died, "out.h5", Mode::append, options);
    EXPECT_EQ(out.steps(), 2u);
    EXPECT_EQ(count_parts(*died), 3u);
    Steps{.first = 5, .steps = 1, .slabs = true}.write(out, transport);
    out.close();
  });
  EXPECT_TRUE(died->exists(stranger));
  died->remove(stranger);
  expect_steps(died, 4, 6);
  EXPECT_EQ(count_parts(*died), 2u);
}

TEST(Split, ByStepsAndByBytes) {
  for (const std::string& strategy : strategies()) {
    SCOPED_TRACE(strategy);
    const auto storage = storage::make_memory();
    write_set(ranks, storage, "out.h5", options_of(strategy, 0, 3), {.steps = 8, .slabs = true});
    EXPECT_EQ(count_parts(*storage), 3 * groups_of(strategy));
    expect_steps(storage, 0, 8);
  }
  const auto storage = storage::make_memory();
  Options options = options_of("shared", 0, 0);
  options.split_bytes = 128 << 10;
  write_set(ranks, storage, "out.h5", options, {.steps = 30, .slabs = true});
  const std::size_t parts = count_parts(*storage);
  EXPECT_GT(parts, 2u);
  EXPECT_LT(parts, 30u);
  for (const std::string& path : storage->paths()) {
    EXPECT_LT(storage->contents(path).size(), 2u * (128 << 10)) << path;
  }
  expect_steps(storage, 0, 30);
}

TEST(Split, AtCloseEveryPartIsSyncedOnceItIsFull) {
  const auto storage = storage::make_memory();
  Options options = options_of("shared", 2, 0);
  options.durability = Durability::close;
  write_set(ranks, storage, "out.h5", options, {.steps = 6, .slabs = true});
  expect_steps(storage, 4, 6);
  EXPECT_EQ(count_parts(*storage), 2u);
}

TEST(Split, ASetGoesOnWithoutTheOption) {
  const auto storage = storage::make_memory();
  write_set(ranks, storage, "out.h5", options_of("shared", 0, 2), {.steps = 4, .slabs = true});
  on_ranks(ranks, [&](exec::Transport& transport) {
    File out = open_file(transport, storage, "out.h5", Mode::append, options_of("shared", 0, 0));
    Steps{.first = 4, .steps = 4, .slabs = true}.write(out, transport);
    out.close();
  });
  EXPECT_EQ(count_parts(*storage), 3u);
  expect_steps(storage, 0, 8);
}

TEST(Keep, InNetcdf4) {
  const auto storage = storage::make_memory();
  Options options = options_of("shared", 2, 0);
  options.format = "netcdf4";
  write_set(ranks, storage, "out.h5", options, {.steps = 5, .slabs = true});
  EXPECT_EQ(count_parts(*storage), 2u);
  expect_steps(storage, 3, 5);
}

TEST(Split, WhatHasNoIndexIsRefused) {
  const auto storage = storage::make_memory();
  Options options = options_of("shared", 0, 2);
  options.durability = Durability::automatic;
  expect_everywhere(
      errors_on_ranks(2,
                      [&](exec::Transport& transport) {
                        open_file(transport, storage, "out.npy", Mode::write, options).close();
                      }),
      Code::unsupported, {"out.npy", "keep and split", "no index"});
  Options grouped = options_of("shared", 2, 0);
  grouped.hdf5_layout = "grouped";
  expect_everywhere(
      errors_on_ranks(2,
                      [&](exec::Transport& transport) {
                        open_file(transport, storage, "out.h5", Mode::write, grouped).close();
                      }),
      Code::unsupported, {"out.h5", "keep and split", "no index"});
  // Steps are not split off a plain file.
  write_set(2, storage, "out.h5", options_of("shared", 0, 0), {.steps = 1, .slabs = true});
  expect_everywhere(errors_on_ranks(2,
                                    [&](exec::Transport& transport) {
                                      open_file(transport, storage, "out.h5", Mode::append,
                                                options_of("shared", 0, 2))
                                          .close();
                                    }),
                    Code::format, {"out.h5", "one plain file"});
}

}  // namespace
}  // namespace sluice::test
