// What the journal of a commit holds: the bytes that differ, and where it is asked for, those
// between two that lie near each other in one change.
#include "commit/publish/journal.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sluice::commit
