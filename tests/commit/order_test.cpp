// What was acknowledged as durable is on stable storage: in the record of all storage calls no
// write, no size and no name is without its sync, and data is synced before the metadata that
// points to it is.
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "api/file_impl.hpp"
#include "exec/transport/local_transport.hpp"
#include "storage/memory.hpp"
#include "storage/recording.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

using storage::Call;
using storage::Record;

const Shape shape = {64, 20};

/// What is not yet on stable storage after a list of calls.
struct Volatile {
  std::map<std::uint64_t, std::uint64_t> files;  // inode, number of its first unsynced call
  bool names = false;

  void take(const Record& record, std::uint64_t number) {
    switch (record.call) {
      case Call::write:
      case Call::resize:
      case Call::preallocate:
        files.emplace(record.inode, number);
        break;
      case Call::sync:
        files.erase(record.inode);
        break;
      case Call::create:
      case Call::rename:
      case Call::make_folder:
      case Call::remove_folder:
        names = true;
        break;
      case Call::remove:
        files.erase(record.inode);
        break;
      case Call::sync_directory:
        names = false;
        break;
      default:
        break;  // times need not survive
    }
  }
};

class Recorded {
 public:
  explicit Recorded(const std::string& strategy) : strategy_(strategy) {}

  /// Steps, and after each `visit(records so far, ticket)` on rank 0.
  template <class Visit>
  void write(Durability durability, Visit&& visit) {
    exec::run_local(3, 1, [&](exec::Transport& transport) {
      const auto recording = std::make_shared<storage::RecordingStorage>(inner_, log_, 0);
      Options options;
      options.strategy = strategy_;
      options.durability = durability;
      File out(detail::open_on(transport, recording, "f.h5", Mode::write, options));
      const Variable v = out.define<double>("v", shape, {.steps = true});
      for (std::uint64_t s = 0; s < 4; ++s) {
        Giver<double> giver;
        Step step = out.begin_step();
        giver.put(step, v, s, shape, slab(shape, transport.rank(), 3));
        const Ticket ticket = step.end();
        ticket.wait();
        transport.barrier();
        if (transport.rank() == 0) {
          visit(log_->records(), ticket);
        }
        transport.barrier();
      }
      out.close();
    });
  }
  const std::vector<Record>& records() const { return log_->records(); }

 private:
  std::string strategy_;
  std::shared_ptr<storage::MemoryStorage> inner_ = storage::make_memory();
  std::shared_ptr<storage::Log> log_ = std::make_shared<storage::Log>();
};

Volatile volatile_after(const std::vector<Record>& records) {
  Volatile left;
  for (std::size_t i = 0; i < records.size(); ++i) {
    left.take(records[i], i);
  }
  return left;
}

void expect_stable(const std::vector<Record>& records, const std::string& when) {
  const Volatile left = volatile_after(records);
  for (const auto& [inode, number] : left.files) {
    ADD_FAILURE() << when << ": call " << number << " (" << storage::describe(records[number].call)
                  << " of " << records[number].path << ") was never synced";
  }
  EXPECT_FALSE(left.names) << when << ": a name was never synced";
}

class Order : public testing::TestWithParam<const char*> {};

TEST_P(Order, ADurableTicketIsTrue) {
  Recorded recorded(GetParam());
  recorded.write(Durability::step, [](const auto& records, const Ticket& ticket) {
    ASSERT_TRUE(ticket.durable());
    expect_stable(records, "after step " + std::to_string(ticket.step()));
  });
}

TEST_P(Order, WithDurabilityCloseTheClosedFileIsStable) {
  Recorded recorded(GetParam());
  recorded.write(Durability::close, [](const auto& records, const Ticket& ticket) {
    EXPECT_FALSE(ticket.durable());
    EXPECT_FALSE(volatile_after(records).files.empty()) << "synced though nobody asked for it";
  });
  expect_stable(recorded.records(), "after close");
}

TEST_P(Order, WithoutDurabilityNothingIsSynced) {
  Recorded recorded(GetParam());
  recorded.write(Durability::none, [](const auto&, const Ticket&) {});
  for (const Record& record : recorded.records()) {
    EXPECT_NE(record.call, Call::sync);
    EXPECT_NE(record.call, Call::sync_directory);
  }
}

TEST_P(Order, DataIsStableBeforeAnythingBelowTheFrontierChanges) {
  Recorded recorded(GetParam());
  recorded.write(Durability::step, [](const auto&, const Ticket&) {});
  // The superblock (the first bytes of the file itself) is written once all else of it is synced.
  Volatile left;
  std::set<std::uint64_t> named;  // inodes whose file has its name
  std::size_t changes = 0;
  for (std::size_t i = 0; i < recorded.records().size(); ++i) {
    const Record& record = recorded.records()[i];
    const bool is_root = record.call == Call::write && record.offset == 0 &&
                         named.count(record.inode) != 0 && !left.files.count(record.inode);
    const bool is_root_too_early = record.call == Call::write && record.offset == 0 &&
                                   named.count(record.inode) != 0 &&
                                   left.files.count(record.inode) != 0;
    EXPECT_FALSE(is_root_too_early) << "call " << i;
    changes += is_root ? 1 : 0;
    if (record.call == Call::rename) {
      named.insert(record.inode);
    }
    left.take(record, i);
  }
  EXPECT_GE(changes, 6u);  // the guard and the superblock of each step but the first
}

INSTANTIATE_TEST_SUITE_P(Strategies, Order, testing::Values("serial", "shared", "forward"),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace sluice::test
