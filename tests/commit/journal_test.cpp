// What the journal of a commit holds: the bytes that differ, and where it is asked for, those
// between two that lie near each other in one change. What is no journal, and what is a damaged
// one.
#include "commit/publish/journal.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

#include "commit/publish/in_place.hpp"
#include "commit/publish/journal_format.hpp"
#include "commit/publish/journal_runs.hpp"
#include "commit/publish/recovery.hpp"
#include "sluice/error.hpp"
#include "support/memory_storage.hpp"

namespace sluice::commit {
namespace {

using Bytes = std::vector<std::byte>;

class JournalOf : public testing::Test {
 protected:
  static constexpr std::size_t structure_bytes = 300;

  /// Two structures that touch; of each the bytes 10 and 150 change.
  JournalOf() : disk_(storage::make_memory()) {
    file_ = disk_->open("f", storage::Access::create);
    file_->write(0, Bytes(2 * structure_bytes, std::byte{1}));
    Bytes changed(structure_bytes, std::byte{1});
    changed[10] = changed[150] = std::byte{2};
    changes_.adopt(0, changed);
    changes_.adopt(structure_bytes, changed);
  }
  Journal make(std::size_t joined_bytes) {
    return make_journal(*file_, changes_, 2 * structure_bytes, 1, 0, joined_bytes);
  }

  std::shared_ptr<storage::Storage> disk_;
  std::unique_ptr<storage::File> file_;
  model::Overlay changes_;
};

TEST_F(JournalOf, HoldsOnlyWhatDiffers) {
  const Journal journal = make(0);
  ASSERT_EQ(journal.runs.size(), 4U);
  EXPECT_EQ(journal.runs[1].offset, 150U);
  EXPECT_EQ(journal.runs[1].before, Bytes{std::byte{1}});
  EXPECT_EQ(journal.runs[1].after, Bytes{std::byte{2}});
}

TEST_F(JournalOf, HoldsNearbyChangesAsOne) {
  const Journal journal = make(139);
  ASSERT_EQ(journal.runs.size(), 2U) << "what two changes leave between them belongs to neither";
  EXPECT_EQ(journal.runs[0].offset, 10U);
  Bytes after(141, std::byte{1});
  EXPECT_EQ(journal.runs[0].before, after);
  after.front() = after.back() = std::byte{2};
  EXPECT_EQ(journal.runs[0].after, after);
  EXPECT_EQ(journal.runs[1].offset, structure_bytes + 10);
}

TEST_F(JournalOf, HoldsDistantChangesApart) { EXPECT_EQ(make(138).runs.size(), 4U); }

class JournalBeside : public JournalOf {
 protected:
  void put(const Bytes& bytes) {
    if (disk_->exists(name_)) {
      disk_->remove(name_);
    }
    disk_->open(name_, storage::Access::create)->write(0, bytes);
  }
  /// What recover() throws for a journal of these bytes, which stays.
  std::string refusal(const Bytes& bytes) {
    put(bytes);
    try {
      recover(*disk_, "f", false);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::damaged) << e.what();
      EXPECT_TRUE(disk_->exists(name_));
      EXPECT_THROW(open_runs(*disk_, "f"), Error);
      EXPECT_THROW(recover(*disk_, "f", true), Error);
      return e.what();
    }
    return "";
  }

  const std::string name_ = journal_path("f");
};

/// Two records, of which the first was durable when the second was begun.
Bytes chain_of(Journal journal) {
  Bytes bytes = journal.to_bytes(0, true);
  JournalHeader first{};
  std::memcpy(&first, bytes.data(), sizeof first);
  const JournalPlace place = place_behind({}, first);
  bytes.resize(place.at);
  ++journal.commit;
  const Bytes second = journal.to_bytes(place.previous, true);
  bytes.insert(bytes.end(), second.begin(), second.end());
  return bytes;
}

TEST_F(JournalBeside, IsDamagedWhereItsFirstHeaderIs) {
  const Bytes whole = chain_of(make(0));
  for (std::size_t at = 0; at < journal_header_bytes; at += 4) {
    Bytes flipped = whole;
    flipped[at] ^= std::byte{0x10};
    EXPECT_NE(refusal(flipped).find(name_ + ": its first record is damaged"), std::string::npos)
        << at;
  }
  put(whole);
  EXPECT_EQ(recover(*disk_, "f", false).commit, 2U);
}

/// Also where it is torn, or has been forgotten, and records of before lie behind it.
TEST_F(JournalBeside, IsNoneWhereACrashEndedItsFirstRecord) {
  const Bytes whole = make(0).to_bytes();
  const Bytes torn(whole.begin(), whole.begin() + journal_header_bytes + 5);
  const Bytes zeros(whole.size());
  const Bytes stub(whole.begin(), whole.begin() + 20);
  Bytes damaged = whole;
  damaged[9] ^= std::byte{1};
  Bytes forgotten = chain_of(make(0));
  std::fill_n(forgotten.begin(), journal_header_bytes, std::byte{0});
  Bytes begun = forgotten;
  std::copy_n(whole.begin(), 20, begun.begin());
  for (const Bytes& bytes : {torn, zeros, stub, damaged, forgotten, begun, Bytes()}) {
    put(bytes);
    EXPECT_EQ(recover(*disk_, "f", false).found, Recovery::Found::incomplete) << bytes.size();
    EXPECT_FALSE(disk_->exists(name_)) << bytes.size();
  }
}

TEST_F(JournalBeside, IsKeptAsideDamagedTooWhereItsFileIsGone) {
  Bytes flipped = chain_of(make(0));
  flipped[9] ^= std::byte{1};
  put(flipped);
  disk_->remove("f");
  EXPECT_EQ(keep_left_journal(*disk_, "f").path, name_ + "-left-1");
}

}  // namespace
}  // namespace sluice::commit
