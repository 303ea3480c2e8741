// Several programs at one file: a writer that has lost its lease, a file that is moved or replaced
// while it is written, one that is replaced while it is opened, and a reader of a file whose writer
// has stopped in the middle of a flush.
#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <span>
#include <string>
#include <sys/file.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "plugin/committed_file.hpp"
#include "plugin/open_files.hpp"
#include "sluice/error.hpp"
#include "storage/endings.hpp"
#include "storage/forwarding.hpp"
#include "storage/scratch.hpp"
#include "support/faulty_storage.hpp"

namespace sluice::plugin {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t front_bytes = 8192;
constexpr std::uint64_t long_bytes = 100000;  // goes to the file at once

Bytes filled(std::uint64_t length, unsigned value) { return Bytes(length, std::byte(value)); }

/// A file of HDF5, as far as the driver looks.
Bytes front(unsigned value) {
  constexpr unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  Bytes bytes = filled(front_bytes, value);
  for (std::size_t at = 0; at < sizeof signature; ++at) {
    bytes[at] = std::byte(signature[at]);
  }
  return bytes;
}

/// Runs `after` after the size was asked.
class AskedFile final : public storage::ForwardingFile {
 public:
  AskedFile(std::unique_ptr<storage::File> inner, std::function<void()> after)
      : ForwardingFile(std::move(inner)), after_(std::move(after)) {}
  std::uint64_t size() override {
    const std::uint64_t bytes = ForwardingFile::size();
    after_();
    return bytes;
  }

 private:
  std::function<void()> after_;
};

/// Before a lease is taken, once; and at other calls.
class LateLease final : public storage::ForwardingStorage {
 public:
  std::function<void(const std::string&)> before_open;
  std::function<void()> after_size;  ///< of a file that is opened for writing

  LateLease(std::shared_ptr<storage::Storage> inner, std::function<void()> before)
      : ForwardingStorage(std::move(inner)), before_(std::move(before)) {}
  std::unique_ptr<storage::Lease> lease(const std::string& path) override {
    if (auto before = std::exchange(before_, nullptr)) {
      before();
    }
    return ForwardingStorage::lease(path);
  }
  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    if (before_open) {
      before_open(path);
    }
    auto file = ForwardingStorage::open(path, access);
    if (after_size && access == storage::Access::read_write) {
      return std::make_unique<AskedFile>(std::move(file), after_size);
    }
    return file;
  }
  const char* name() const override { return "late"; }

 private:
  std::function<void()> before_;
};

class Writers : public testing::Test {
 protected:
  std::shared_ptr<CommittedFile> create(const Settings& settings = {}) {
    return CommittedFile::create(*files_, path_, settings, false);
  }
  std::shared_ptr<CommittedFile> reopen() {
    return CommittedFile::reopen(*files_, path_, Settings{});
  }

  /// One flush of a new file, and with `value` one that changes it in place: it has a journal.
  static void begin(CommittedFile& file, unsigned value) {
    file.write(0, front(value));
    file.set_end(front_bytes);
    file.commit(false);
    change(file, value);
  }
  static void change(CommittedFile& file, unsigned value) {
    file.write(front_bytes / 2, filled(100, value));
    file.commit(false);
  }
  static void append(CommittedFile& file, unsigned value) {
    file.write(front_bytes, filled(long_bytes, value));
    file.set_end(front_bytes + long_bytes);
  }

  /// As a writer on another host does when the record of this one was not renewed for too long.
  void lose_lease() { files_->remove(storage::lease_path(path_)); }

  Bytes bytes_of(const std::string& path) {
    const auto file = files_->open(path, storage::Access::read);
    Bytes bytes(file->size());
    file->read(0, bytes);
    return bytes;
  }

  static Code code_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& e) {
      return e.code();
    }
    return Code::ok;
  }

  /// What another writer leaves after the lease of `first` was lost: its last flush, a journal.
  std::shared_ptr<CommittedFile> write_after(unsigned value) {
    lose_lease();
    auto second = reopen();
    append(*second, value);
    change(*second, value);
    expect_written(value);
    return second;
  }
  void expect_written(unsigned value) {
    Bytes expected = filled(front_bytes + long_bytes, value);
    Bytes now = bytes_of(path_);
    ASSERT_EQ(now.size(), expected.size());
    EXPECT_TRUE(files_->exists(journal_));
    EXPECT_TRUE(std::equal(now.begin() + front_bytes, now.end(), expected.begin() + front_bytes));
    EXPECT_EQ(now[front_bytes / 2], std::byte(value));
    EXPECT_EQ(now[0], std::byte{0x89});
  }

  const std::shared_ptr<storage::Storage> files_ = storage::make_posix();
  const storage::Scratch scratch_;
  const std::string path_ = scratch_ / "out.h5";
  const std::string journal_ = storage::journal_path(path_);
};

TEST_F(Writers, WhoHasLostItsLeaseLeavesTheFileAloneWhenItCloses) {
  auto first = create();
  begin(*first, 1);
  const auto second = write_after(2);
  EXPECT_EQ(code_of([&] { first->close(); }), Code::locked);
  first.reset();
  expect_written(2);
  second->close();
}

TEST_F(Writers, WhoHasLostItsLeaseLeavesTheFileAloneWhereItHasWrites) {
  auto first = create();
  begin(*first, 1);
  const auto second = write_after(2);
  first->write(front_bytes / 2, filled(100, 3));
  EXPECT_EQ(code_of([&] { first->commit(false); }), Code::locked);
  EXPECT_EQ(code_of([&] { first->close(); }), Code::locked);
  first.reset();
  expect_written(2);
  second->close();
}

TEST_F(Writers, WhoHasLostItsLeaseKeepsNoChecksums) {
  Settings settings;
  settings.checksums = true;
  auto first = create(settings);
  begin(*first, 1);
  const auto second = write_after(2);
  const auto time = files_->open(path_, storage::Access::read)->modified_ns();
  EXPECT_EQ(code_of([&] { first->close(); }), Code::locked);
  EXPECT_EQ(files_->open(path_, storage::Access::read)->modified_ns(), time);
  second->close();
}

TEST_F(Writers, WhoHasLostItsLeaseWritesNothingBeyondTheEnd) {
  auto first = create();
  begin(*first, 1);
  const auto second = write_after(2);
  EXPECT_EQ(code_of([&] { append(*first, 3); }), Code::locked);
  expect_written(2);
  EXPECT_EQ(code_of([&] { first->close(); }), Code::locked);
  expect_written(2);
  second->close();
}

TEST_F(Writers, WhoHasLostItsLeaseLeavesTheNewFileOfAnother) {
  auto first = create();
  first->write(0, front(1));
  lose_lease();
  auto second = create();
  second->write(0, front(2));
  second->set_end(front_bytes);
  first.reset();
  EXPECT_EQ(code_of([&] { second->close(); }), Code::ok);
  EXPECT_TRUE(bytes_of(path_) == front(2));
}

TEST_F(Writers, WhoHasLostItsLeaseLeavesTheEmptyFileThatAnotherFills) {
  files_->open(path_, storage::Access::create)->close();
  auto first = create();
  lose_lease();
  auto second = create();
  begin(*second, 2);
  first.reset();
  EXPECT_EQ(bytes_of(path_).size(), front_bytes);
  second->close();
}

TEST_F(Writers, AFileThatIsMovedIsNotWritten) {
  auto file = create();
  begin(*file, 1);
  const std::string moved = scratch_ / "old.h5";
  files_->rename(path_, moved);
  const Bytes before = bytes_of(moved);
  const Bytes journal = bytes_of(journal_);
  EXPECT_EQ(code_of([&] { change(*file, 2); }), Code::changed_outside);
  EXPECT_TRUE(bytes_of(moved) == before);
  EXPECT_TRUE(bytes_of(journal_) == journal);
  EXPECT_EQ(code_of([&] { file->close(); }), Code::changed_outside);
  file.reset();
  EXPECT_TRUE(bytes_of(moved) == before);
  EXPECT_FALSE(files_->exists(path_));
}

TEST_F(Writers, AFileThatIsRemovedIsWrittenForItsProgramAlone) {
  auto file = create();
  begin(*file, 1);
  files_->remove(path_);
  change(*file, 2);
  append(*file, 3);
  file->commit(false);
  Bytes read(100);
  file->read(front_bytes / 2, read);
  EXPECT_TRUE(read == filled(100, 2));
  Bytes appended(long_bytes);
  file->read(front_bytes, appended);
  EXPECT_TRUE(appended == filled(long_bytes, 3));
  EXPECT_EQ(code_of([&] { file->close(); }), Code::ok);
  EXPECT_FALSE(files_->exists(path_));
  EXPECT_FALSE(files_->exists(journal_));
}

TEST_F(Writers, AFileThatIsRemovedWithItsFolderIsClosed) {
  const std::string folder = scratch_ / "run";
  files_->make_folder(folder);
  auto file = CommittedFile::create(*files_, folder + "/out.h5", Settings{}, false);
  begin(*file, 1);
  files_->remove_folder(folder);
  append(*file, 2);
  EXPECT_EQ(code_of([&] { file->commit(false); }), Code::ok);
  EXPECT_EQ(code_of([&] { file->close(); }), Code::ok);
  EXPECT_FALSE(files_->exists(folder));
}

TEST_F(Writers, AFileThatIsPutInThePlaceIsNotWritten) {
  auto file = create();
  begin(*file, 1);
  const std::string other = scratch_ / "other.h5";
  files_->open(other, storage::Access::create)->write(0, front(7));
  files_->rename(other, path_);
  EXPECT_EQ(code_of([&] { change(*file, 2); }), Code::changed_outside);
  EXPECT_EQ(code_of([&] { file->close(); }), Code::changed_outside);
  file.reset();
  EXPECT_TRUE(bytes_of(path_) == front(7));
  // Nothing says that the foreign file has a commit that is not in place.
  EXPECT_FALSE(files_->exists(journal_));
}

TEST_F(Writers, AFileThatIsMovedMayBeClosedWhereNothingIsToBeWritten) {
  auto file = create();
  begin(*file, 1);
  const std::string moved = scratch_ / "old.h5";
  files_->rename(path_, moved);
  // Whoever has it by its new name may have appended.
  const auto other = CommittedFile::reopen(*files_, moved, Settings{});
  append(*other, 2);
  other->commit(false);
  EXPECT_EQ(code_of([&] { file->close(); }), Code::ok);
  EXPECT_EQ(bytes_of(moved).size(), front_bytes + long_bytes);
  EXPECT_FALSE(files_->exists(journal_));
  other->close();
}

TEST_F(Writers, AFileThatIsReplacedBeforeTheLeaseIsOpenedAnew) {
  auto old = create();
  begin(*old, 1);
  old->close();
  LateLease late(files_, [&] {
    auto fresh = create();
    begin(*fresh, 2);
    fresh->close();
  });
  const auto file = CommittedFile::reopen(late, path_, Settings{});
  change(*file, 3);
  EXPECT_EQ(bytes_of(path_)[front_bytes / 2], std::byte{3});
  EXPECT_EQ(bytes_of(path_)[front_bytes - 1], std::byte{2});
  file->close();
}

TEST_F(Writers, ACloseWithNothingToWriteNeedsNoLease) {
  const std::string folder = scratch_ / "run";
  files_->make_folder(folder);
  const std::string path = folder + "/out.h5";
  for (const bool is_renamed : {true, false}) {
    auto file = CommittedFile::create(*files_, path, Settings{}, false);
    file->write(0, front(1));
    file->set_end(front_bytes);
    file->commit(false);
    if (is_renamed) {
      files_->rename(folder, scratch_ / "done");
    } else {
      files_->remove(storage::lease_path(path));
    }
    EXPECT_EQ(code_of([&] { file->close(); }), Code::ok);
    file.reset();
    EXPECT_TRUE(bytes_of(is_renamed ? scratch_ / "done/out.h5" : path) == front(1));
    if (is_renamed) {
      files_->make_folder(folder);
    }
  }
}

TEST_F(Writers, AnEmptyFileOfAnotherProgramIsNotFilledByAnExclusiveOne) {
  LateLease late(files_, [&] { files_->open(path_, storage::Access::create)->close(); });
  const auto file = CommittedFile::create(late, path_, Settings{}, true);
  file->write(0, front(1));
  file->set_end(front_bytes);
  EXPECT_EQ(code_of([&] { file->commit(false); }), Code::exists);
  EXPECT_TRUE(bytes_of(path_).empty());
}

TEST_F(Writers, AnEmptyFileIsLockedBeforeItsSizeIsAsked) {
  files_->open(path_, storage::Access::create)->close();
  const int other = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(other, 0);
  LateLease late(files_, nullptr);
  bool is_locked = false;
  late.after_size = [&] {
    is_locked = is_locked || ::flock(other, LOCK_EX | LOCK_NB) == 0;
    if (is_locked) {
      EXPECT_EQ(::pwrite(other, "its bytes", 9, 0), 9);
    }
  };
  std::shared_ptr<CommittedFile> file;
  EXPECT_EQ(code_of([&] { file = CommittedFile::create(late, path_, Settings{}, false); }),
            is_locked ? Code::locked : Code::ok);
  EXPECT_EQ(bytes_of(path_).size(), is_locked ? 9U : 0U);
  EXPECT_FALSE(is_locked);
  file.reset();
  ::close(other);
}

TEST_F(Writers, TheNameOfAnEmptyFileIsDurableBeforeItsSignature) {
  files_->open(path_, storage::Access::create)->close();
  const auto faults = std::make_shared<storage::Faults>();
  storage::FaultyStorage faulty(files_, faults);
  const auto file = CommittedFile::create(faulty, path_, Settings{}, false);
  file->write(0, front(1));
  file->set_end(front_bytes);
  storage::Rule rule;
  rule.call = storage::Call::sync_directory;
  faults->add(rule);
  EXPECT_EQ(code_of([&] { file->commit(false); }), Code::io);
  EXPECT_EQ(bytes_of(path_)[0], std::byte{0});
  file->commit(false);
  EXPECT_TRUE(bytes_of(path_) == front(1));
  file->close();
}

/// Its last flush is durable, but not in place: the file is guarded.
class StoppedWriter : public Writers {
 protected:
  void SetUp() override {
    faulty_ = std::make_shared<storage::FaultyStorage>(files_, faults_);
    writer_ = CommittedFile::create(*faulty_, path_, Settings{}, false);
    begin(*writer_, 1);
    storage::Rule rule;
    rule.landed_bytes = 1;  // of the guard all
    rule.call = storage::Call::write;
    rule.path_part = "out.h5";
    rule.nth = 1;
    for (; !is_guarded() && rule.nth < 10; ++rule.nth) {
      faults_->add(rule);
      code_of([&] { change(*writer_, 2 + static_cast<unsigned>(rule.nth)); });
      faults_->clear();
    }
    ASSERT_TRUE(is_guarded());
    ASSERT_TRUE(files_->exists(journal_));
  }
  bool is_guarded() { return bytes_of(path_)[0] == std::byte{0}; }
  std::unique_ptr<OpenFile> read() { return OpenFile::open(*files_, path_, Opening{}, Settings{}); }

  const std::shared_ptr<storage::Faults> faults_ = std::make_shared<storage::Faults>();
  std::shared_ptr<storage::Storage> faulty_;
  std::shared_ptr<CommittedFile> writer_;
};

TEST_F(StoppedWriter, AReaderIsToldToTryAgainWhileTheWriterLives) {
  EXPECT_EQ(code_of([&] { read(); }), Code::locked);
  writer_->close();
  EXPECT_EQ(code_of([&] { read(); }), Code::ok);
}

TEST_F(StoppedWriter, AReaderDoesNotReadTheJournalWhileTheWriterLives) {
  LateLease late(files_, nullptr);
  int read_journals = 0;
  late.before_open = [&](const std::string& path) { read_journals += path == journal_ ? 1 : 0; };
  EXPECT_EQ(code_of([&] { OpenFile::open(late, path_, Opening{}, Settings{}); }), Code::locked);
  EXPECT_EQ(read_journals, 0);
}

TEST_F(StoppedWriter, AReaderThatWaitsKeepsNoOtherFileWaiting) {
  constexpr auto longest_wait = std::chrono::seconds(10);
  LateLease late(files_, nullptr);
  std::future<std::unique_ptr<OpenFile>> other;
  bool is_other_open = false;
  late.before_open = [&](const std::string& path) {
    if (path == path_ && !other.valid()) {
      other = std::async(std::launch::async, [&] {
        return OpenFile::open(*files_, scratch_ / "other.h5", {.writes = true, .creates = true},
                              Settings{});
      });
      is_other_open = other.wait_for(longest_wait) == std::future_status::ready;
    }
  };
  EXPECT_EQ(code_of([&] { OpenFile::open(late, path_, Opening{}, Settings{}); }), Code::locked);
  EXPECT_TRUE(is_other_open);
}

TEST_F(StoppedWriter, AReaderLeavesTheJournalWhereAWriterBeginsMeanwhile) {
  lose_lease();
  LateLease late(files_, nullptr);
  std::unique_ptr<storage::Lease> lease;
  late.before_open = [&](const std::string& path) {
    if (path == journal_ && !lease) {
      lease = files_->lease(path_);
    }
  };
  EXPECT_EQ(code_of([&] { OpenFile::open(late, path_, Opening{}, Settings{}); }), Code::locked);
  EXPECT_TRUE(lease);
}

TEST_F(StoppedWriter, AReaderAsksTheLockOfAWriterOnAnotherHost) {
  lose_lease();
  const std::string record = storage::lease_path(path_);
  const std::string text =
      "host other, process 7\nsluice-lease 1 11111111-2222-3333-4444-555555555555 1 7 1 lock\n";
  files_->open(record, storage::Access::create)->write(0, std::as_bytes(std::span(text)));
  const int fd = ::open(record.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(fd, F_OFD_SETLK, &lock), 0);
  EXPECT_EQ(code_of([&] { read(); }), Code::locked);
  ::close(fd);  // it was killed
  EXPECT_EQ(code_of([&] { read(); }), Code::ok);
  EXPECT_TRUE(files_->exists(record));
}

TEST_F(StoppedWriter, AReaderLaysTheJournalOverTheFileOfAnEndedWriterAndLocksIt) {
  lose_lease();
  {
    const auto file = read();
    Bytes bytes(8);
    file->read(0, bytes);
    EXPECT_EQ(bytes[0], std::byte{0x89});
  }
  writer_.reset();  // its lock
  const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::flock(fd, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(code_of([&] { read(); }), Code::locked);
  ::close(fd);
}

}  // namespace
}  // namespace sluice::plugin
