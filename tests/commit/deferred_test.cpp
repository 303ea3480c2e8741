// Steps that wait in the journal to be put in place: what a crash leaves after a failed step, after
// a torn record, and after another writer has taken over.
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>

#include "api/file/file_impl.hpp"
#include "commit/publish/journal.hpp"
#include "exec/transport/local_transport.hpp"
#include "storage/faulty.hpp"
#include "storage/memory.hpp"
#include "support/errors.hpp"
#include "support/forwarding_storage.hpp"
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
                  std::uint64_t most) {
  for (const Mode mode : {Mode::read, Mode::append, Mode::read}) {
    exec::run_local(1, 3, [&](exec::Transport& transport) {
      File file(detail::open_on(transport, disk, path, mode, {}));
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

/// `sector` of the journal is still as before: the disk writes them in any order.
void tear(storage::MemoryStorage& disk, const std::vector<std::byte>& before,
          std::uint64_t sector) {
  std::vector<std::byte> bytes = disk.contents(commit::journal_path(path));
  for (std::uint64_t at = sector * sector_bytes;
       at < std::min<std::uint64_t>(bytes.size(), (sector + 1) * sector_bytes); ++at) {
    bytes[at] = at < before.size() ? before[at] : std::byte{0};
  }
  disk.put(commit::journal_path(path), bytes);
}

/// Small records are in place when a long one follows.
TEST(Deferred, ATornRecordDoesNotBringBackAnOldOne) {
  constexpr double apply_every_s = 0.3;
  const auto memory = storage::make_memory();
  std::shared_ptr<storage::MemoryStorage> before;
  std::shared_ptr<storage::MemoryStorage> after;
  exec::run_local(1, 7, [&](exec::Transport& transport) {
    File out(
        detail::open_on(transport, memory, path, Mode::write, deferred("serial", apply_every_s)));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    std::vector<Variable> many;
    many.reserve(100);
    for (int i = 0; i < 100; ++i) {
      many.push_back(
          out.define<double>("w" + std::to_string(i), {2}, {.steps = true, .partial = true}));
    }
    const auto wait_until_in_place = [&] {
      std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * apply_every_s));
    };
    put_step(out, v, transport, many);
    wait_until_in_place();
    for (int s = 1; s < 4; ++s) {
      put_step(out, v, transport);
    }
    wait_until_in_place();
    before = memory->clone();
    put_step(out, v, transport, many);
    after = memory->clone();
    out.close();
  });
  const auto old = before->contents(commit::journal_path(path));
  const auto journal = after->contents(commit::journal_path(path));
  ASSERT_NE(old, journal);
  std::uint64_t torn_sectors = 0;
  for (std::uint64_t sector = 0; sector_bytes * sector < journal.size(); ++sector) {
    SCOPED_TRACE("sector " + std::to_string(sector) + " is torn");
    const auto torn = after->clone();
    tear(*torn, old, sector);
    if (torn->contents(commit::journal_path(path)) != journal) {
      ++torn_sectors;
      expect_steps(torn, 4, 5);
    }
  }
  EXPECT_GT(torn_sectors, 1u) << "the record is a long one";
}

/// A record that others may take over.
class LostLease : public ForwardingStorage {
 public:
  LostLease(std::shared_ptr<storage::Storage> disk, bool& is_lost)
      : ForwardingStorage(std::move(disk)), is_lost_(is_lost) {}
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

}  // namespace
}  // namespace sluice::test
