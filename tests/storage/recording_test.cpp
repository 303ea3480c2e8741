// The log contains every mutating call in order, with its bytes, enough to rebuild the files; and
// it counts.
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "storage/scratch.hpp"
#include "support/faulty_storage.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"

namespace sluice::storage {
namespace {

/// One word a record: "1:write r0 4+3".
std::string brief(const Record& record) {
  std::string text = std::to_string(record.inode) + ":" + call_name(record.call) + " r" +
                     std::to_string(record.rank);
  if (record.call == Call::write || record.call == Call::preallocate) {
    text += " " + std::to_string(record.offset) + "+" + std::to_string(record.length);
  }
  if (record.call == Call::resize) text += " " + std::to_string(record.length);
  if (record.call == Call::rename) text += " " + record.to + "/" + std::to_string(record.replaced);
  return text + (record.failed ? " failed" : "");
}

std::vector<std::string> brief(const Log& log) {
  std::vector<std::string> all;
  for (const Record& record : log.records()) all.push_back(brief(record));
  return all;
}

/// Executes the records on another storage: only the log is used.
void replay(const Log& log, Storage& storage) {
  std::map<std::uint64_t, std::unique_ptr<File>> files;
  for (const Record& record : log.records()) {
    if (record.failed) continue;
    switch (record.call) {
      case Call::create:
        files[record.inode] = storage.open(record.path, Access::create);
        break;
      case Call::open:
        files[record.inode] = storage.open(record.path, Access::read_write);
        break;
      case Call::write:
        files.at(record.inode)->write(record.offset, record.bytes);
        break;
      case Call::preallocate:
        files.at(record.inode)->preallocate(record.offset, record.length);
        break;
      case Call::resize:
        files.at(record.inode)->resize(record.length);
        break;
      case Call::rename:
        storage.rename(record.path, record.to);
        break;
      case Call::remove:
        storage.remove(record.path);
        break;
      default:
        break;
    }
  }
}

class Recording : public testing::Test {
 protected:
  std::shared_ptr<MemoryStorage> memory_ = make_memory();
  std::shared_ptr<Log> log_ = std::make_shared<Log>();
  RecordingStorage storage_{memory_, log_, 0};
};

TEST_F(Recording, CallsStandInTheirOrder) {
  auto a = storage_.open("a", Access::create);
  storage_.set_rank(3);
  auto b = storage_.open("./dir/../b", Access::create);
  a->write(4, bytes_of("abc"));
  b->preallocate(0, 100);
  b->write(0, bytes_of("x"));
  std::vector<std::byte> got(5);
  b->read(0, got);
  b->size();
  a->sync();
  b->resize(50);
  b->set_modified_ns(77);
  storage_.rename("a", "b");
  storage_.exists("b");
  b->write(9, bytes_of("late"));
  storage_.sync_directory("b");
  storage_.remove("b");
  const std::vector<std::string> expected = {
      "1:create r0",     "2:create r3",    "1:write r0 4+3",      "2:preallocate r3 0+100",
      "2:write r3 0+1",  "1:sync r0",      "2:resize r3 50",      "2:set_modified r3",
      "1:rename r3 b/2", "2:write r3 9+4", "0:sync_directory r3", "1:remove r3"};
  EXPECT_EQ(brief(*log_), expected);
  EXPECT_EQ(log_->records()[1].path, "b");
  EXPECT_EQ(text_of(log_->records()[2].bytes), "abc");
  EXPECT_EQ(log_->records()[7].modified_ns, 77);
}

TEST_F(Recording, FilesFromBeforeAreTiedToTheirPath) {
  memory_->put("old", bytes_of("abc"));
  memory_->put("other", bytes_of("def"));
  storage_.open("old", Access::read);
  storage_.open("old", Access::read_write)->write(0, bytes_of("x"));
  storage_.rename("other", "old");
  storage_.open("old", Access::read_write)->write(0, bytes_of("y"));
  const std::vector<std::string> expected = {"1:open r0", "1:write r0 0+1", "2:open r0",
                                             "2:rename r0 old/1", "2:write r0 0+1"};
  EXPECT_EQ(brief(*log_), expected);
  EXPECT_EQ(log_->records()[2].path, "other");
}

TEST_F(Recording, ARemovedNameIsFree) {
  storage_.open("a", Access::create);
  storage_.open("b", Access::create);
  storage_.remove("b");
  storage_.rename("a", "b");
  storage_.open("b", Access::read_write)->resize(1);
  const std::vector<std::string> expected = {"1:create r0", "2:create r0", "2:remove r0",
                                             "1:rename r0 b/0", "1:resize r0 1"};
  EXPECT_EQ(brief(*log_), expected);
}

TEST_F(Recording, FailedCallsAreMarked) {
  auto faults = std::make_shared<Faults>();
  RecordingStorage storage(std::make_shared<FaultyStorage>(memory_, faults), log_);
  auto file = storage.open("a", Access::create);
  faults->add({.persistent = true});
  EXPECT_EQ(error_of([&] { file->write(0, bytes_of("x")); }).code(), Code::io);
  EXPECT_EQ(error_of([&] { file->sync(); }).code(), Code::io);
  EXPECT_EQ(error_of([&] { storage.open("b", Access::create); }).code(), Code::io);
  const std::vector<std::string> expected = {"1:create r0", "1:write r0 0+1 failed",
                                             "1:sync r0 failed", "2:create r0 failed"};
  EXPECT_EQ(brief(*log_), expected);
}

TEST_F(Recording, CountsByPathAndRank) {
  RecordingStorage second(memory_, log_, 1);
  {
    auto a = storage_.open("a", Access::create);
    auto b = second.open("a", Access::read_write);
    auto c = second.open("./a", Access::read);
    auto d = second.open("d", Access::create);
    a->write(0, bytes_of("abcd"));
    b->write(9, bytes_of("ef"));
    d->write(0, bytes_of("z"));
    std::vector<std::byte> got(100);
    c->read(0, got);
    b->sync();
    b->preallocate(0, 1);
    EXPECT_EQ(log_->counters("a").open_now, 3u);
  }
  const Counters counters = log_->counters("x/../a");
  EXPECT_EQ(counters.opens, 3u);
  EXPECT_EQ(counters.opens_by_rank, (std::map<int, std::uint64_t>{{0, 1}, {1, 2}}));
  EXPECT_EQ(counters.open_now, 0u);
  EXPECT_EQ(counters.writes, 2u);
  EXPECT_EQ(counters.bytes_written, 6u);
  EXPECT_EQ(counters.reads, 1u);
  EXPECT_EQ(counters.bytes_read, 11u);
  EXPECT_EQ(counters.syncs, 1u);
  EXPECT_EQ(counters.preallocations, 1u);
  EXPECT_EQ(log_->totals().opens, 4u);
  EXPECT_EQ(log_->totals().bytes_written, 7u);
  EXPECT_EQ(log_->counters("never").opens, 0u);
  log_->clear();
  EXPECT_EQ(log_->totals().opens, 0u);
  EXPECT_TRUE(log_->records().empty());
}

TEST_F(Recording, TheLogHasALimit) {
  auto log = std::make_shared<Log>(10);
  RecordingStorage storage(memory_, log);
  auto file = storage.open("a", Access::create);
  file->write(0, bytes_of("12345678"));
  EXPECT_EQ(error_of([&] { file->write(8, bytes_of("abc")); }).code(), Code::over_budget);
  EXPECT_EQ(file->size(), 8u);  // refused before it reached the file
  file->write(8, bytes_of("ab"));
}

// Random work by four ranks at a time; the log alone gives the same files again.
TEST_F(Recording, ReplayGivesTheSameFiles) {
  memory_->put("before", bytes_of("from before"));
  auto start = memory_->clone();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&, rank] {
      std::mt19937_64 random(static_cast<std::uint64_t>(rank));
      RecordingStorage mine(memory_, log_, rank);
      auto shared = mine.open("before", Access::read_write);
      std::string folder = "g";
      folder.append(std::to_string(rank)).append("/");
      for (int i = 0; i < 200; ++i) {
        const std::string name = "f" + std::to_string(rank) + std::to_string(random() % 3);
        if (!mine.exists(name)) mine.open(name, Access::create);
        auto file = mine.open(name, Access::read_write);
        file->write(random() % 20'000, random_bytes(random() % 9'000, random()));
        shared->write(random() % 5'000, random_bytes(50, random()));
        if (i % 7 == 0) file->resize(random() % 20'000);
        if (i % 11 == 0) file->preallocate(random() % 9'000, 9'000);
        if (i % 13 == 0) mine.rename(name, folder + name);
        if (i % 17 == 0) mine.remove(mine.exists(name) ? name : folder + name);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  replay(*log_, *start);
  ASSERT_EQ(start->paths(), memory_->paths());
  EXPECT_GT(start->paths().size(), 4u);
  for (const std::string& path : start->paths()) {
    EXPECT_TRUE(start->contents(path) == memory_->contents(path)) << path;
  }
}

}  // namespace
}  // namespace sluice::storage
