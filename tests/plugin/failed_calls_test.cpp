// What a failed call leaves of a file that is written: data of which no sync has told, and writes
// for which there is no memory. No later commit is made without it.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "model/clock.hpp"
#include "plugin/committed_file.hpp"
#include "plugin/lost_writes.hpp"
#include "sluice/error.hpp"
#include "storage/endings.hpp"
#include "storage/scratch.hpp"
#include "support/counted_heap.hpp"
#include "support/faulty_storage.hpp"

namespace sluice::plugin {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t front_bytes = 8192;
constexpr std::uint64_t long_bytes = 100000;  // goes to the file at once

Bytes filled(std::uint64_t length, unsigned value) { return Bytes(length, std::byte(value)); }

class FailedCalls : public testing::Test {
 protected:
  /// A file with one flush, whose every commit waits for the disk or only the last.
  std::shared_ptr<CommittedFile> begin(Settings::Durability durability) {
    Settings settings;
    settings.durability = durability;
    auto file = CommittedFile::create(*files_, path_, settings, false);
    constexpr unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    Bytes front = filled(front_bytes, 1);
    std::ranges::transform(signature, front.begin(), [](auto byte) { return std::byte(byte); });
    file->write(0, front);
    file->set_end(front_bytes);
    file->commit(false);
    return file;
  }
  static void change(CommittedFile& file, unsigned value, bool commits = true) {
    file.write(front_bytes / 2, filled(100, value));
    if (commits) {
      file.commit(false);
    }
  }
  static void append(CommittedFile& file, std::uint64_t length) {
    file.write(front_bytes, filled(length, 5));
    file.set_end(front_bytes + length);
  }
  static Code code_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& e) {
      return e.code();
    }
    return Code::ok;
  }

  const std::shared_ptr<storage::Faults> faults_ = std::make_shared<storage::Faults>();
  const std::shared_ptr<storage::Storage> files_ =
      std::make_shared<storage::FaultyStorage>(storage::make_posix(), faults_);
  const storage::Scratch scratch_;
  const std::string path_ = scratch_ / "out.h5";
};

TEST_F(FailedCalls, ACloseWhoseSyncLosesWhatFlushesWroteDoesNotSucceedTheSecondTime) {
  for (const std::uint64_t length : {long_bytes, std::uint64_t{500}, std::uint64_t{0}}) {
    auto file = begin(Settings::Durability::close);
    append(*file, length);
    change(*file, 2);  // it has a journal, which is given up where the disk is full
    change(*file, 3);
    change(*file, 4, false);
    faults_->add({.call = storage::Call::sync, .path_part = path_, .error_number = ENOSPC});
    EXPECT_EQ(code_of([&] { file->close(); }), Code::no_space) << length;
    file.reset();
    faults_->clear();
    files_->remove(path_);
    files_->remove(storage::journal_path(path_));
  }
}

TEST_F(FailedCalls, AWriteThatFailsLosesNothingOfWhatIsNotSynced) {
  for (const auto durability : {Settings::Durability::close, Settings::Durability::none}) {
    auto file = begin(durability);
    append(*file, 500);
    change(*file, 2);
    file->write(front_bytes + 100, filled(100, 6));  // new at the last commit, now in place
    change(*file, 3, false);
    faults_->add({.call = storage::Call::write, .path_part = path_, .nth = 4});
    const Code first = code_of([&] { file->commit(false); });
    faults_->clear();
    EXPECT_TRUE(first == Code::ok || first == Code::io);
    change(*file, 4, false);
    EXPECT_EQ(code_of([&] { file->commit(false); }), Code::ok);
    EXPECT_EQ(code_of([&] { file->close(); }), Code::ok);
    EXPECT_EQ(files_->open(path_, storage::Access::read)->size(), front_bytes + 500);
  }
}

TEST_F(FailedCalls, AWriteForWhichThereIsNoMemoryIsAnErrorAndNoCommitIsMadeWithoutIt) {
  std::int64_t failures = 0;
  for (bool has_failed = true; has_failed; ++failures) {
    auto file = begin(Settings::Durability::step);
    const Bytes bytes = filled(100, 2);
    test::allocations_left = failures;
    Code code = Code::ok;
    try {
      file->write(front_bytes / 2, bytes);
    } catch (const Error& e) {
      code = e.code();
    } catch (...) {
      code = Code::internal;
    }
    test::allocations_left = -1;
    has_failed = code != Code::ok;
    if (has_failed) {
      EXPECT_EQ(code, Code::over_budget);
      EXPECT_EQ(code_of([&] { file->commit(false); }), Code::wrong_state);
      file->write(front_bytes / 2, bytes);
    }
    EXPECT_EQ(code_of([&] { file->close(); }), Code::ok);
  }
  EXPECT_GT(failures, 1);
}

TEST(LostWrites, AreWhatWasNotWrittenSince) {
  LostWrites lost;
  lost.note(100, 100);
  lost.note(150, 100);
  lost.note_written(120, 10);
  EXPECT_EQ(lost.text(), "20 bytes at offset 100");
  lost.note_written(0, 125);
  EXPECT_EQ(lost.text(), "120 bytes at offset 130");
  lost.note_written(130, 119);
  EXPECT_EQ(lost.text(), "1 bytes at offset 249");
  lost.note_written(249, 1);
  EXPECT_TRUE(lost.is_empty());
}

TEST(LostWrites, ThatCannotBeNotedStayLost) {
  LostWrites lost;
  test::allocations_left = 0;
  lost.note(100, 100);
  test::allocations_left = -1;
  lost.note_written(0, 1000);
  EXPECT_FALSE(lost.is_empty());
  EXPECT_EQ(lost.text(), "some bytes");
}

TEST(LostWrites, ThatAreManyTakeNoLongerEach) {
  constexpr std::uint64_t count = 200000;
  constexpr double most_seconds = 20;  // 0.1; where each of them looked at all others: minutes
  const auto begun = model::now_s();
  LostWrites lost;
  for (std::uint64_t i = 0; i < count; ++i) {
    lost.note(2 * i, 1);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    lost.note_written(2 * i, 1);
  }
  EXPECT_TRUE(lost.is_empty());
  EXPECT_LT(model::now_s() - begun, most_seconds);
}

}  // namespace
}  // namespace sluice::plugin
