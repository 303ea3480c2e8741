// What was acknowledged as durable is on stable storage: in the record of all storage calls no
// write, size or name lacks its sync, and data is synced before the metadata that points to it. For
// all files of an output: the parts of a set, the documents and the objects of a store.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "api/file/file_impl.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

using storage::Call;
using storage::Record;

const Shape shape = {64, 20};

struct Case {
  const char* name;
  const char* strategy;
  const char* path = "f.h5";
  const char* visible = "f.h5";  ///< the file that is renamed, if a step becomes visible by a
                                 ///< rename
  bool atomic_file = false;      ///< every step becomes visible by a rename
  bool is_store = false;         ///< a folder of documents
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// What is not on stable storage after a list of calls.
struct Volatile {
  std::map<std::uint64_t, std::uint64_t> files;  // inode, number of its first unsynced call
  std::map<std::string, std::uint64_t> folders;  // with names to sync: the first such call

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
      case Call::make_folder:
        folders.emplace(storage::folder_of(record.path), number);
        break;
      case Call::rename:
        files.erase(record.replaced);  // nobody can open it any more
        folders.emplace(storage::folder_of(record.to), number);
        break;
      case Call::remove_folder:
        std::erase_if(folders, [&](const auto& folder) { return lies_in(folder.first, record); });
        folders.emplace(storage::folder_of(record.path), number);
        break;
      case Call::remove:
        files.erase(record.inode);
        break;
      case Call::sync_directory:
        folders.erase(storage::folder_of(record.path));
        break;
      default:
        break;  // times need not survive
    }
  }

 private:
  static bool lies_in(const std::string& folder, const Record& record) {
    return (folder + "/").starts_with(record.path + "/");
  }
};

class Recorded {
 public:
  explicit Recorded(const Case& which) : which_(which) {}

  /// Steps, and after each `visit(records so far, ticket)` on rank 0.
  template <class Visit>
  void write(Durability durability, Visit&& visit) {
    exec::run_local(3, 1, [&](exec::Transport& transport) {
      const auto recording = std::make_shared<storage::RecordingStorage>(inner_, log_, 0);
      Options options;
      options.strategy = which_.strategy;
      options.durability = durability;
      File out(detail::open_on(transport, recording, which_.path, Mode::write, options));
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
  Case which_;
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

void expect_stable(const std::vector<Record>& records, const Volatile& left,
                   const std::string& when) {
  const auto complain = [&](std::uint64_t number) {
    ADD_FAILURE() << when << ": call " << number << " (" << storage::describe(records[number].call)
                  << " of " << records[number].path << ") was not synced";
  };
  for (const auto& [inode, number] : left.files) {
    complain(number);
  }
  for (const auto& [folder, number] : left.folders) {
    complain(number);
  }
}

/// `which`: what follows from the manifest need not be durable: a store's other documents are
/// derived from it.
void expect_stable(const Case& which, const std::vector<Record>& records, const std::string& when) {
  Volatile left = volatile_after(records);
  const std::string visible = storage::normal_path(which.visible);
  const auto last = std::find_if(records.rbegin(), records.rend(), [&](const Record& record) {
    return record.call == Call::rename && record.to == visible;
  });
  const auto shown = static_cast<std::uint64_t>(records.rend() - last);
  if (which.is_store) {
    std::erase_if(left.folders, [&](const auto& folder) {
      return folder.second >= shown && folder.first != storage::folder_of(visible);
    });
  }
  expect_stable(records, left, when);
}

class Order : public testing::TestWithParam<Case> {};

TEST_P(Order, ADurableTicketIsTrue) {
  Recorded recorded(GetParam());
  recorded.write(Durability::step, [](const auto& records, const Ticket& ticket) {
    ASSERT_TRUE(ticket.durable());
    expect_stable(GetParam(), records, "after step " + std::to_string(ticket.step()));
  });
}

TEST_P(Order, WithDurabilityCloseTheClosedFileIsStable) {
  Recorded recorded(GetParam());
  recorded.write(Durability::close, [](const auto& records, const Ticket& ticket) {
    EXPECT_FALSE(ticket.durable());
    EXPECT_FALSE(volatile_after(records).files.empty()) << "synced though nobody asked for it";
  });
  expect_stable(GetParam(), recorded.records(), "after close");
}

TEST_P(Order, WithoutDurabilityNothingIsSynced) {
  Recorded recorded(GetParam());
  recorded.write(Durability::none, [](const auto&, const Ticket&) {});
  for (const Record& record : recorded.records()) {
    EXPECT_NE(record.call, Call::sync);
    EXPECT_NE(record.call, Call::sync_directory);
  }
}

TEST_P(Order, AllFilesAreStableBeforeAStepBecomesVisible) {
  Recorded recorded(GetParam());
  recorded.write(Durability::step, [](const auto&, const Ticket&) {});
  const std::vector<Record>& records = recorded.records();
  const std::string visible = storage::normal_path(GetParam().visible);
  Volatile left;
  std::set<std::uint64_t> named;  // inodes whose file has its name
  std::size_t renames = 0;
  std::size_t changes = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (record.call == Call::rename) {
      named.insert(record.inode);
      if (record.to == visible) {
        ++renames;
        Volatile before = left;  // but for the name that the rename itself replaces
        before.folders.erase(storage::folder_of(record.path));
        expect_stable(records, before, "before rename " + std::to_string(i));
      }
    }
    // The superblock: the first bytes of a file that has its name. A part of a set is not a step
    // yet, and the other groups are writing theirs.
    if (record.call == Call::write && record.offset == 0 && named.count(record.inode) != 0) {
      ++changes;
      if (GetParam().atomic_file) {
        EXPECT_FALSE(left.files.count(record.inode)) << "call " << i;
      } else {
        expect_stable(records, left, "before the superblock, call " + std::to_string(i));
      }
    }
    left.take(record, i);
  }
  EXPECT_EQ(renames, GetParam().atomic_file ? 4u : 1u);
  // the guard and the superblock of each step but the first
  EXPECT_GE(changes, GetParam().atomic_file ? 0u : 6u);
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, Order,
    testing::Values(Case{"serial", "serial"}, Case{"shared", "shared"},
                    Case{"collective", "collective"}, Case{"forward", "forward"},
                    Case{"auto", "auto"},
                    Case{"per_process", "file-per-process", "f.h5", "f.h5", true},
                    Case{"per_node", "file-per-node", "f.h5", "f.h5", true},
                    Case{"zarr", "shared", "f.zarr", "f.zarr/zarr.json", true, true}),
    [](const auto& named) { return std::string(named.param.name); });

}  // namespace
}  // namespace sluice::test
