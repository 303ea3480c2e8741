// Steps that wait in the journal to be put in place: what a crash leaves after a failed step, after
// a torn record, and after another writer has taken over.
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>

#include "api/file/file_impl.hpp"
#include "commit/publish/journal.hpp"
#include "commit/publish/recovery.hpp"
#include "storage/forwarding.hpp"
#include "support/errors.hpp"
#include "support/faulty_storage.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/observing_storage.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

const char* const path = "run.h5";
const Shape shape = {12, 5};

Options deferred(const std::string& strategy, double apply_every_s = 1e9) {
  Options options;
  options.strategy = strategy;
  options.durability = Durability::step;
  options.apply_every_s = apply_every_s;
  return options;
}

void put_step(File& out, Variable v, const exec::Transport& transport,
              const std::vector<Variable>& others = {}) {
  Giver<double> giver;
  const std::uint64_t s = out.steps();
  Step step = out.begin_step();
  giver.put(step, v, s, shape, slab(shape, transport.rank(), transport.size()));
  for (const Variable& other : others) {
    giver.put(step, other, s, {2}, whole_box({2}));
  }
  step.end();
}

/// What a reader finds, and after it a writer that recovers: `steps` steps, all right.
void expect_steps(const std::shared_ptr<storage::MemoryStorage>& disk, std::uint64_t least,
                  std::uint64_t most, const std::string& at = path) {
  for (const Mode mode : {Mode::read, Mode::append, Mode::read}) {
    exec::run_local(1, 3, [&](exec::Transport& transport) {
      File file(detail::open_on(transport, disk, at, mode, {}));
      EXPECT_TRUE(file.steps() >= least && file.steps() <= most)
          << file.steps() << " steps, not " << least << " to " << most;
      for (std::uint64_t s = 0; mode == Mode::read && s < file.steps(); ++s) {
        expect_values<double>(file, "v", s, shape, whole_box(shape), s);
      }
      file.close();
    });
  }
}

/// The nth call of the second step fails; the third one is acknowledged, and then the machine
/// stops. False if there is no such call.
bool survives_failure(const std::string& strategy, std::uint64_t nth, int error_number) {
  const auto memory = storage::make_memory();
  const auto faults = std::make_shared<storage::Faults>();
  std::shared_ptr<storage::MemoryStorage> crashed;
  std::uint64_t acknowledged = 0;
  bool has_fired = false;
  exec::run_local(2, 7, [&](exec::Transport& transport) {
    const auto storage = std::make_shared<storage::FaultyStorage>(memory, faults);
    File out(detail::open_on(transport, storage, path, Mode::write, deferred(strategy)));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    put_step(out, v, transport);
    transport.barrier();
    if (transport.rank() == 0) {
      faults->add({.nth = nth, .error_number = error_number});
    }
    transport.barrier();
    try {
      put_step(out, v, transport);
      put_step(out, v, transport);
      put_step(out, v, transport);
    } catch (const Error& e) {
      if (e.code() != Code::wrong_state) {  // else a file that has to be opened anew
        put_step(out, v, transport);
        put_step(out, v, transport);
      }
    }
    transport.barrier();
    if (transport.rank() == 0) {
      has_fired = faults->fired() != 0;
      faults->clear();
      acknowledged = out.steps();
      crashed = memory->clone();
    }
    transport.barrier();
  });
  expect_steps(crashed, acknowledged, acknowledged);
  return has_fired;
}

TEST(Deferred, StepsBehindAFailedOneAreFoundAfterACrash) {
  for (const char* const strategy : {"shared", "serial", "collective"}) {
    for (const int error_number : {EIO, ENOSPC}) {
      std::uint64_t nth = 1;
      while (survives_failure(strategy, nth, error_number)) {
        ASSERT_FALSE(HasFailure()) << strategy << ", call " << nth;
        ++nth;
      }
      EXPECT_GT(nth, 5u);
    }
  }
}

constexpr std::uint64_t sector_bytes = 512;

/// Keeps what of the journal was on the disk after each of its last two syncs.
class SyncedJournal : public storage::ObservingStorage {
 public:
  explicit SyncedJournal(const std::shared_ptr<storage::MemoryStorage>& memory)
      : ObservingStorage(memory), memory_(*memory) {}
  std::unique_ptr<storage::File> open(const std::string& name, storage::Access access) override {
    auto file = inner().open(name, access);
    return name == commit::journal_path(path) ? std::make_unique<Noted>(std::move(file), *this)
                                              : std::move(file);
  }
  const std::vector<std::byte>& last_but_one() const { return last_but_one_; }

 private:
  struct Noted : storage::ForwardingFile {
    Noted(std::unique_ptr<storage::File> file, SyncedJournal& noted_by)
        : ForwardingFile(std::move(file)), by(noted_by) {}
    void sync() override {
      ForwardingFile::sync();
      by.last_but_one_ = std::exchange(by.last_, by.memory_.contents(path()));
    }
    SyncedJournal& by;
  };
  storage::MemoryStorage& memory_;
  std::vector<std::byte> last_;
  std::vector<std::byte> last_but_one_;
};

/// These sectors of the journal are still as before: the disk writes them in any order.
void tear(storage::MemoryStorage& disk, const std::vector<std::byte>& before,
          std::uint64_t first_sector, std::uint64_t end_sector) {
  std::vector<std::byte> bytes = disk.contents(commit::journal_path(path));
  for (std::uint64_t at = first_sector * sector_bytes;
       at < std::min<std::uint64_t>(bytes.size(), end_sector * sector_bytes); ++at) {
    bytes[at] = at < before.size() ? before[at] : std::byte{0};
  }
  disk.put(commit::journal_path(path), bytes);
}

/// Small records fill the log and are in place; a long one is written over its front.
TEST(Deferred, ATornRecordDoesNotBringBackAnOldOne) {
  constexpr double at_the_next_step_s = 1e-6;
  constexpr std::uint64_t log_bytes = 252 << 10;  // where no other record fits
  const auto memory = storage::make_memory();
  const auto disk = std::make_shared<SyncedJournal>(memory);
  std::shared_ptr<storage::MemoryStorage> after;
  std::uint64_t steps = 0;
  exec::run_local(1, 7, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, disk, path, Mode::write,
                             deferred("serial", at_the_next_step_s)));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    std::vector<Variable> many;
    many.reserve(100);
    for (int i = 0; i < 100; ++i) {
      many.push_back(
          out.define<double>("w" + std::to_string(i), {2}, {.steps = true, .partial = true}));
    }
    put_step(out, v, transport, many);
    const auto end_of_log = [&] {
      const std::string journal = commit::journal_path(path);
      const auto bytes =
          memory->exists(journal) ? memory->contents(journal) : std::vector<std::byte>();
      const auto last = std::find_if(bytes.rbegin(), bytes.rend(),
                                     [](std::byte byte) { return byte != std::byte{0}; });
      return static_cast<std::uint64_t>(bytes.rend() - last);
    };
    while (end_of_log() < log_bytes && out.steps() < 1000) {
      put_step(out, v, transport);
    }
    put_step(out, v, transport, many);
    after = memory->clone();
    steps = out.steps();
    out.close();
  });
  ASSERT_LT(steps, 1000u);
  const auto& old = disk->last_but_one();
  const auto journal = after->contents(commit::journal_path(path));
  ASSERT_FALSE(std::equal(old.begin(), old.begin() + sector_bytes, journal.begin()))
      << "the record is at the front";
  std::uint64_t changed_sectors = 0;
  for (std::uint64_t sector = 0; sector_bytes * (sector + 1) <= journal.size(); ++sector) {
    const auto at = static_cast<std::ptrdiff_t>(sector_bytes * sector);
    if (std::equal(old.begin() + at, old.begin() + at + sector_bytes, journal.begin() + at)) {
      continue;
    }
    ++changed_sectors;
    for (const std::uint64_t first_sector : {sector, std::uint64_t{0}}) {
      SCOPED_TRACE("sectors " + std::to_string(first_sector) + " to " + std::to_string(sector) +
                   " are old");
      const auto torn = after->clone();
      tear(*torn, old, first_sector, sector + 1);
      expect_steps(torn, steps - 1, steps);
    }
  }
  EXPECT_GT(changed_sectors, 10u) << "the record is a long one";
}

/// A record that others may take over.
class LostLease : public storage::ObservingStorage {
 public:
  LostLease(std::shared_ptr<storage::Storage> disk, bool& is_lost)
      : ObservingStorage(std::move(disk)), is_lost_(is_lost) {}
  std::unique_ptr<storage::Lease> lease(const std::string& /*path*/) override {
    struct Record : storage::Lease {
      explicit Record(const bool& taken) : is_lost(taken) {}
      void check() override {
        if (is_lost) {
          throw Error(Code::locked, "another writer has taken over");
        }
      }
      const bool& is_lost;
    };
    return std::make_unique<Record>(is_lost_);
  }

 private:
  bool& is_lost_;
};

TEST(Deferred, AWriterThatWasReplacedChangesNothing) {
  for (const bool closes : {true, false}) {
    for (const bool has_step : {true, false}) {
      const auto memory = storage::make_memory();
      bool is_lost = false;
      const auto mine = std::make_shared<LostLease>(memory, is_lost);
      exec::run_local(1, 7, [&](exec::Transport& transport) {
        auto old = std::make_unique<File>(
            detail::open_on(transport, mine, path, Mode::write, deferred("serial", 0)));
        const Variable v = old->define<double>("v", shape, {.steps = true});
        put_step(*old, v, transport);
        is_lost = true;
        File next(detail::open_on(transport, memory, path, Mode::append, deferred("serial")));
        for (int s = 0; s < 2; ++s) {
          put_step(next, next.find("v"), transport);
        }
        if (has_step) {
          EXPECT_EQ(thrown_by([&] { put_step(*old, v, transport); }).code(), Code::locked);
        }
        if (closes) {
          EXPECT_NE(thrown_by([&] { old->close(); }).code(), Code::ok);
        }
        old.reset();
        expect_steps(memory->clone(), 3, 3);
        put_step(next, next.find("v"), transport);
        next.close();
      });
      expect_steps(memory, 4, 4);
    }
  }
}

TEST(Deferred, AWriterThatWasReplacedLeavesTheStoreOfTheNextOne) {
  const std::string store = "run.zarr";
  for (const bool has_step : {true, false}) {
    const auto memory = storage::make_memory();
    bool is_lost = false;
    const auto mine = std::make_shared<LostLease>(memory, is_lost);
    exec::run_local(1, 7, [&](exec::Transport& transport) {
      auto old = std::make_unique<File>(
          detail::open_on(transport, mine, store, Mode::write, deferred("serial")));
      const Variable v = old->define<double>("v", shape, {.steps = true});
      is_lost = true;
      File next(detail::open_on(transport, memory, store, Mode::write, deferred("serial")));
      const Variable w = next.define<double>("v", shape, {.steps = true});
      put_step(next, w, transport);
      if (has_step) {
        EXPECT_EQ(thrown_by([&] { put_step(*old, v, transport); }).code(), Code::locked);
      }
      EXPECT_NE(thrown_by([&] { old->close(); }).code(), Code::ok);
      old.reset();
      put_step(next, w, transport);
      next.close();
    });
    expect_steps(memory, 2, 2, store);
  }
}

/// How often a reader that opens the file begins, where a commit is made while it reads. If each
/// is in place before the next one, that puts the one before it in place.
int begins_of_reader(double apply_every_s, int commits_before) {
  const auto memory = storage::make_memory();
  int begins = 0;
  exec::run_local(1, 7, [&](exec::Transport& transport) {
    File out(
        detail::open_on(transport, memory, path, Mode::write, deferred("serial", apply_every_s)));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    const auto set = [&](int value) {
      out.set_attribute("", "a", value);
      out.flush();
    };
    set(0);
    put_step(out, v, transport);
    for (int i = 0; i < commits_before; ++i) {
      set(i);
    }
    commit::open_committed(*memory, path, [&](storage::File&) {
      if (begins++ == 0) {
        set(commits_before);
      }
    });
    out.close();
  });
  return begins;
}

TEST(Deferred, AReaderBeginsAgainOnlyWhereACommitWasPutInPlaceMeanwhile) {
  for (int commits = 1; commits < 20; ++commits) {
    EXPECT_EQ(begins_of_reader(1e-6, commits), 2) << commits << " commits before";
    EXPECT_EQ(begins_of_reader(1e9, commits), 1) << commits << " commits before";
  }
}

}  // namespace
}  // namespace sluice::test
