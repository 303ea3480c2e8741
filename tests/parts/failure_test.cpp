// A failure in one group fails everywhere, and leaves committed data unchanged.
#include "layout/hdf5/catalog.hpp"
#include "parts/sets.hpp"
#include "support/faulty_storage.hpp"

namespace sluice::test {
namespace {

using storage::Call;

class Failure : public testing::Test {
 protected:
  std::shared_ptr<storage::MemoryStorage> disk_ = storage::make_memory();
  std::shared_ptr<storage::Faults> faults_ = std::make_shared<storage::Faults>();
  std::shared_ptr<storage::Storage> faulty_ =
      std::make_shared<storage::FaultyStorage>(disk_, faults_);
  static constexpr int ranks = 4;

  /// Three steps; the second one fails once by `rule` and is then tried again.
  void fail_once(const SetKind& kind, const storage::Rule& rule, bool retries = true) {
    disk_ = storage::make_memory();
    faulty_ = std::make_shared<storage::FaultyStorage>(disk_, faults_);
    std::vector<Error> errors(ranks, Error(Code::ok, ""));
    on_ranks(ranks, [&](exec::Transport& transport) {
      Options options = kind.options();
      options.durability = Durability::step;
      File out = open_file(transport, faulty_, "out.h5", Mode::write, options);
      const Steps first{.steps = 1, .slabs = true};
      first.write(out, transport);
      transport.barrier();
      if (transport.rank() == 0) {
        faults_->add(rule);
      }
      transport.barrier();
      try {
        Steps{.first = 1, .steps = 1, .slabs = true}.write(out, transport);
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(transport.rank())] = error;
      }
      transport.barrier();
      faults_->clear();
      expect_seen(transport, 1);
      if (retries) {
        Steps{.first = 1, .steps = 2, .slabs = true}.write(out, transport);
        out.close();
        expect_seen(transport, 3);
      }
    });
    expect_everywhere(errors, rule.error_number == ENOSPC ? Code::no_space : Code::io, {"out.h5"});
  }

  /// A reader sees `steps` steps, right.
  void expect_seen(exec::Transport& transport, std::uint64_t steps) {
    File in = open_file(transport, disk_, "out.h5", Mode::read, {});
    Steps{.steps = steps}.expect(in, transport);
  }
};

TEST_F(Failure, AGroupThatCannotWrite) {
  for (const SetKind& kind : all_kinds(ranks)) {
    SCOPED_TRACE(kind.text());
    const std::string part = kind.groups(ranks) > 1 ? "000001.h5" : "000000.h5";
    fail_once(kind, {.call = Call::write, .path_part = part, .error_number = EIO});
  }
}

TEST_F(Failure, AGroupThatRunsOutOfSpace) {
  fail_once({}, {.call = Call::preallocate, .path_part = "000002.h5", .error_number = ENOSPC});
}

TEST_F(Failure, AGroupThatCannotSync) {
  // A file whose sync failed never reports a successful one: the set cannot continue.
  fail_once({}, {.call = Call::sync, .path_part = "000003.h5", .error_number = EIO}, false);
}

TEST_F(Failure, TheIndexCannotBeWritten) {
  for (const Call call : {Call::create, Call::write, Call::sync, Call::rename}) {
    SCOPED_TRACE(storage::call_name(call));
    fail_once({}, {.call = call, .path_part = "out.h5.sluice-new", .error_number = ENOSPC});
    EXPECT_FALSE(disk_->exists("out.h5.sluice-new"));
  }
}

TEST_F(Failure, ARowThatNoIndexMentionsIsNotSeen) {
  fail_once({}, {.call = Call::rename, .path_part = "out.h5.sluice-new", .error_number = EIO});
  const auto file = disk_->open(part_paths(*disk_, "out.h5")[1], storage::Access::read);
  const auto catalog = layout::hdf5::Catalog::open(*file);
  EXPECT_EQ(catalog->steps(), 4u);  // 0, the lost 1, 1 again, 2
}

TEST_F(Failure, TheFirstCommitFailsAndLeavesNoIndex) {
  faults_->add({.call = Call::write, .path_part = "000001.h5", .error_number = EIO});
  expect_everywhere(errors_on_ranks(ranks,
                                    [&](exec::Transport& transport) {
                                      File out = open_file(transport, faulty_, "out.h5",
                                                           Mode::write, SetKind{}.options());
                                      Steps{.steps = 1, .slabs = true}.write(out, transport);
                                    }),
                    Code::io, {"000001.h5"});
  EXPECT_FALSE(disk_->exists("out.h5"));
}

TEST_F(Failure, WhatTheRanksPutWrongIsFoundBeforeAnyPartIsWritten) {
  const auto errors = errors_on_ranks(ranks, [&](exec::Transport& transport) {
    File out = open_file(transport, disk_, "out.h5", Mode::write, SetKind{}.options());
    const Variable v = out.define<double>("v", {8}, {.steps = true});
    const std::vector<double> values(3);
    Step step = out.begin_step();
    const auto rank = static_cast<std::uint64_t>(transport.rank());
    step.put(v, values.data(), {.start = {std::min<std::uint64_t>(2 * rank, 5)}, .count = {3}});
    step.end();
  });
  expect_everywhere(errors, Code::overlap, {"v"});
  EXPECT_TRUE(disk_->paths().empty());
}

TEST_F(Failure, AReplacedSetStaysWholeUntilTheFirstCommit) {
  const Steps old{.shape = {7}, .steps = 2, .slabs = true};
  write_set(3, disk_, "out.h5", SetKind{}.options(), old);
  const auto before = disk_->paths();
  on_ranks(ranks, [&](exec::Transport& transport) {
    File out = open_file(transport, disk_, "out.h5", Mode::write, SetKind{}.options());
    {
      File in = open_file(transport, disk_, "out.h5", Mode::read, {});
      old.expect(in, transport);
    }
    Steps{.slabs = true}.write(out, transport);
    out.close();
  });
  expect_set(2, disk_, "out.h5", {});
  EXPECT_EQ(disk_->paths().size(), 1u + ranks);  // the old parts are gone
  for (const std::string& path : before) {
    EXPECT_EQ(disk_->exists(path), path == "out.h5") << path;
  }
}

TEST_F(Failure, TwoWritersOfOneSet) {
  on_ranks(1, [&](exec::Transport& transport) {
    File out = open_file(transport, disk_, "out.h5", Mode::write, SetKind{}.options());
    try {
      open_file(transport, disk_, "out.h5", Mode::write, SetKind{}.options());
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::locked);
    }
    out.close();
    open_file(transport, disk_, "out.h5", Mode::append, SetKind{}.options()).close();
  });
}

}  // namespace
}  // namespace sluice::test
