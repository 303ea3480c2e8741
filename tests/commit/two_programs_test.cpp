// What other programs do to a file between two runs, or while one begins: nothing of theirs, and
// no durable step, is lost, and recovery does not hide it.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

#include "api/file/file_impl.hpp"
#include "commit/publish/journal.hpp"
#include "commit/publish/recovery.hpp"
#include "commit/publish/reopenable_file.hpp"
#include "commit/tools/verify.hpp"
#include "storage/forwarding.hpp"
#include "storage/scratch.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using storage::error_of;

class TwoPrograms : public testing::Test {
 protected:
  static inline const Shape shape{4, 6};
  static constexpr std::int64_t second_ns = 1'000'000'000;

  TwoPrograms() { fs::create_directory(scratch_ / "left"); }

  static Options quiet() {
    Options options;
    options.strategy = "shared";
    options.log = Log::off;
    return options;
  }

  static void put_step(File& out, std::uint64_t key) {
    const Variable v = out.define<double>("v", shape, {.steps = true});
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, v, key, shape, whole_box(shape));
    step.end().wait();
  }

  void write(const std::string& path, Mode mode, std::uint64_t first, std::uint64_t steps) {
    exec::run_local(1, 1, [&](exec::Transport& transport) {
      File out(detail::open_on(transport, storage_, path, mode, quiet()));
      for (std::uint64_t key = first; key < first + steps; ++key) {
        put_step(out, key);
      }
      out.close();
    });
  }

  /// A run of `steps` steps, as it is when it is killed after the last: all but the first are in
  /// the journal only. left() is the file.
  void leave(std::uint64_t steps) {
    const std::string path = scratch_ / "out.h5";
    exec::run_local(1, 1, [&](exec::Transport& transport) {
      Options options = quiet();
      options.apply_every_s = 600;
      File out(detail::open_on(transport, storage_, path, Mode::write, options));
      for (std::uint64_t key = 0; key < steps; ++key) {
        put_step(out, key);
      }
      copy(path, left());
      if (steps > 1) {
        copy(commit::journal_path(path), commit::journal_path(left()));
      }
      std::ofstream(lease_path()) << "host other, process 7\n"
                                     "sluice-lease 1 kernel-x 1 7 99 lock\n";
      out.close();
    });
  }
  std::string left() const { return scratch_ / "left/out.h5"; }
  std::string lease_path() const { return left() + ".sluice-lease"; }

  static void copy(const std::string& from, const std::string& to) {
    fs::copy_file(from, to);
    fs::last_write_time(to, fs::last_write_time(from));
  }

  static std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Gives the file other bytes at an offset, an hour after its last commit.
  void change_later(std::uint64_t offset, const std::string& bytes) {
    const auto before = fs::last_write_time(left());
    {
      std::fstream file(left(), std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(offset));
      file << bytes;
    }
    fs::last_write_time(left(), before + std::chrono::hours(1));
  }
  /// Where the file has the values of step 0.
  std::uint64_t offset_of_values() const {
    const std::vector<double> values = values_of(0);
    const std::string bytes(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(double));
    return content_of(left()).find(bytes);
  }
  std::vector<double> values_of(std::uint64_t step) const {
    std::vector<double> values(24);
    exec::run_local(1, 1, [&](exec::Transport& transport) {
      File in(detail::open_on(transport, storage_, left(), Mode::read, quiet()));
      in.get<double>(in.find("v"), values.data(), selection_of(whole_box(shape)), step);
    });
    return values;
  }

  void expect_steps(const std::string& path, std::uint64_t steps) {
    exec::run_local(1, 1, [&](exec::Transport& transport) {
      File in(detail::open_on(transport, storage_, path, Mode::read, quiet()));
      ASSERT_EQ(in.steps(), steps);
      for (std::uint64_t key = 0; key < steps; ++key) {
        expect_values<double>(in, "v", key, shape, whole_box(shape), key);
      }
    });
  }

  commit::Verdict verify() {
    commit::Verdict verdict;
    exec::run_local(1, 1, [&](exec::Transport& transport) {
      verdict = commit::verify(transport, *storage_, left());
    });
    return verdict;
  }

  storage::Scratch scratch_;
  std::shared_ptr<storage::Storage> storage_ = storage::make("posix");
};

// -- a file that is moved aside after a crash -----------------------------------------------------

TEST_F(TwoPrograms, TheJournalOfAFileThatWasMovedAsideStays) {
  for (const char* strategy : {"shared", "file-per-process"}) {
    SCOPED_TRACE(strategy);
    leave(3);
    const std::string old = scratch_ / "left/old.h5";
    fs::rename(left(), old);
    std::string said;
    set_message_handler([&](const std::string& text) { said += text; });
    exec::run_local(1, 1, [&](exec::Transport& transport) {
      Options options = quiet();
      options.log = Options{}.log;
      options.strategy = strategy;
      File out(detail::open_on(transport, storage_, left(), Mode::write, options));
      put_step(out, 7);
      out.close();
    });
    set_message_handler(nullptr);
    const std::string kept = commit::journal_path(left()) + "-left-1";
    ASSERT_TRUE(fs::exists(kept));
    EXPECT_NE(said.find(kept), std::string::npos) << said;
    EXPECT_NE(said.find("sluice recover"), std::string::npos) << said;
    EXPECT_NE(said.find("remove it only if that file is not wanted"), std::string::npos) << said;
    fs::rename(kept, commit::journal_path(old));
    commit::recover_unattended(*storage_, old, false);
    expect_steps(old, 3);
    for (const auto& entry : fs::directory_iterator(scratch_ / "left")) {
      fs::remove_all(entry.path());
    }
  }
}

TEST_F(TwoPrograms, TheAdviceAboutAJournalBesideAnotherFileKeepsItsSteps) {
  leave(3);
  const std::string old = scratch_ / "left/old.h5";
  const std::string journal = commit::journal_path(left());
  fs::rename(left(), old);
  fs::rename(journal, journal + ".mine");
  for (const std::uint64_t steps : {1, 3}) {  // a file that is shorter, and one that is not
    write(left(), Mode::write, 5, steps);
    fs::copy_file(journal + ".mine", journal);
    const Error error = error_of([&] { commit::recover_unattended(*storage_, left(), false); });
    EXPECT_EQ(error.code(), steps == 1 ? Code::truncated : Code::changed_outside) << error.what();
    const std::string advice = error.what();
    EXPECT_NE(advice.find("rename it to the new name of that file"), std::string::npos) << advice;
    EXPECT_NE(advice.find("remove it only if these steps are not wanted"), std::string::npos);
    fs::remove(journal);
  }
  fs::rename(journal + ".mine", commit::journal_path(old));
  commit::recover_unattended(*storage_, old, false);
  expect_steps(old, 3);
}

TEST_F(TwoPrograms, OneThatHoldsNothingIsNotKept) {
  std::ofstream(commit::journal_path(left())) << std::string(64, '\0');
  write(left(), Mode::write, 0, 1);
  EXPECT_FALSE(fs::exists(commit::journal_path(left()) + "-left-1"));
  EXPECT_FALSE(fs::exists(commit::journal_path(left())));
}

TEST_F(TwoPrograms, JournalsThatWereKeptAreNotReplaced) {
  for (int run = 1; run <= 3; ++run) {
    leave(3);
    fs::remove(left());
    write(left(), Mode::write, 0, 1);
    EXPECT_TRUE(fs::exists(commit::journal_path(left()) + "-left-" + std::to_string(run)));
    fs::remove(left());
  }
}

TEST_F(TwoPrograms, AfterManyTheOldestIsReplaced) {
  const auto kept = [&](int number) {
    return commit::journal_path(left()) + "-left-" + std::to_string(number);
  };
  for (int number = 1; number <= commit::most_left_journals; ++number) {
    std::ofstream(kept(number)) << number;
    const auto age = std::chrono::hours(number == 4 ? 9 : 8);
    fs::last_write_time(kept(number), fs::file_time_type::clock::now() - age);
  }
  leave(3);
  fs::remove(left());
  const std::string journal = content_of(commit::journal_path(left()));
  std::string said;
  set_message_handler([&](const std::string& text) { said += text; });
  exec::run_local(1, 1, [&](exec::Transport& transport) {
    Options options = quiet();
    options.log = Options{}.log;
    File out(detail::open_on(transport, storage_, left(), Mode::write, options));
    put_step(out, 7);
    out.close();
  });
  set_message_handler(nullptr);
  EXPECT_NE(said.find(kept(4)), std::string::npos) << said;
  EXPECT_NE(said.find("replaces the oldest"), std::string::npos) << said;
  for (int number = 1; number <= commit::most_left_journals; ++number) {
    EXPECT_EQ(content_of(kept(number)), number == 4 ? journal : std::to_string(number));
  }
  EXPECT_FALSE(fs::exists(kept(commit::most_left_journals + 1)));
}

TEST_F(TwoPrograms, AFileWhoseJournalIsNotBesideItSaysSo) {
  leave(3);
  const std::string old = scratch_ / "left/old.h5";
  fs::rename(left(), old);
  {
    std::fstream file(old, std::ios::binary | std::ios::in | std::ios::out);
    file.put('\0');  // the guard
  }
  const Error error = error_of([&] { expect_steps(old, 3); });
  EXPECT_EQ(error.code(), Code::damaged);
  EXPECT_NE(std::string(error.what()).find("moved"), std::string::npos) << error.what();
}

// -- Mode::create ---------------------------------------------------------------------------------

/// Another program makes the file while this one takes the lease.
class WithRival final : public storage::ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  std::unique_ptr<storage::Lease> lease(const std::string& path) override {
    auto lease = ForwardingStorage::lease(path);
    std::ofstream(path) << "theirs";
    return lease;
  }
};

TEST_F(TwoPrograms, CreateDoesNotReplaceAFileThatAppearsBeforeTheLease) {
  const auto rival = std::make_shared<WithRival>(storage_);
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    const Error error =
        error_of([&] { detail::open_on(transport, rival, left(), Mode::create, quiet()); });
    EXPECT_EQ(error.code(), Code::exists) << error.what();
  });
  EXPECT_EQ(content_of(left()), "theirs");
}

TEST_F(TwoPrograms, CreateDoesNotReplaceAFileThatAppearsBeforeTheFirstCommit) {
  for (const char* strategy : {"shared", "file-per-process"}) {
    SCOPED_TRACE(strategy);
    exec::run_local(2, 1, [&](exec::Transport& transport) {
      Options options = quiet();
      options.strategy = strategy;
      File out(detail::open_on(transport, storage_, left(), Mode::create, options));
      const Variable v = out.define<double>("v", shape, {.steps = true});
      transport.barrier();
      std::ofstream(left()) << "theirs";
      transport.barrier();
      const Error error = error_of([&] {
        Giver<double> giver;
        Step step = out.begin_step();
        giver.put(step, v, 0, shape, slab(shape, transport.rank(), 2));
        step.end().wait();
      });
      EXPECT_EQ(error.code(), Code::exists) << error.what();
    });
    EXPECT_EQ(content_of(left()), "theirs");
    EXPECT_FALSE(fs::exists(left() + ".sluice-new"));
    fs::remove(left());
  }
}

// -- recovery -------------------------------------------------------------------------------------

TEST_F(TwoPrograms, RecoveryDoesNotHideAChangeFromOutside) {
  for (const std::uint64_t steps : {1, 3}) {
    SCOPED_TRACE(steps);
    leave(steps);
    change_later(offset_of_values(), "corrected by hand");
    commit::recover_unattended(*storage_, left(), false);
    EXPECT_EQ(verify().state, commit::State::changed_outside);
    fs::remove(left());
  }
}

TEST_F(TwoPrograms, RecoveryTakesBackTheTimeOfAStepThatWasNotCommitted) {
  for (const std::uint64_t steps : {1, 3}) {
    SCOPED_TRACE(steps);
    leave(steps);
    change_later(fs::file_size(left()) + 4096, "of a step that was never committed");
    commit::recover_unattended(*storage_, left(), false);
    const commit::Verdict verdict = verify();
    EXPECT_EQ(verdict.state, commit::State::ok);
    EXPECT_FALSE(verdict.modified);
    fs::remove(left());
  }
}

// -- who was stopped in the middle of a step ------------------------------------------------------

double clock_s = 0;

TEST_F(TwoPrograms, AWriteAfterAPauseLooksAtTheLease) {
  const auto lost = storage_->lease(left());
  std::ofstream(left()) << "theirs";
  commit::ReopenableFile file(*storage_, storage_->open(left(), storage::Access::read_write));
  clock_s = 1000;
  file.watch_lease(left(), [] { return clock_s; });
  const auto write = [&] { file.write(0, std::as_bytes(std::span("ours", 4))); };
  storage_->remove(lease_path());
  const auto next = storage_->lease(left());
  clock_s += storage::LeaseWatch::longest_s + 1;
  for (const double pause_s : {storage::LeaseWatch::longest_s + 1, 0.0, 1.0}) {
    clock_s += pause_s;
    EXPECT_EQ(error_of(write).code(), Code::locked) << "nobody has the lease again";
    EXPECT_EQ(content_of(left()), "theirs");
  }
}

/// One that several ranks write at the same time, of a storage that does not tell files apart.
class Together final : public storage::ForwardingFile {
 public:
  explicit Together(std::vector<std::size_t>& calls)
      : ForwardingFile(storage::make_memory()->open("t", storage::Access::create)), calls_(calls) {}
  bool is_collective() const override { return true; }
  storage::FileIdentity identity() override { return {}; }
  void write_collective(std::span<const storage::WritePiece> pieces) override {
    calls_.push_back(pieces.size());
  }

 private:
  std::vector<std::size_t>& calls_;
};

TEST_F(TwoPrograms, WhoHasLostTheLeaseDoesNotLeaveTheOtherRanksInACollectiveWrite) {
  const auto lost = storage_->lease(left());
  std::vector<std::size_t> calls;
  commit::ReopenableFile file(*storage_, std::make_unique<Together>(calls));
  clock_s = 1000;
  file.watch_lease(left(), [] { return clock_s; });
  const std::vector<storage::WritePiece> pieces(2);
  file.write_collective(pieces);
  storage_->remove(lease_path());
  clock_s += storage::LeaseWatch::longest_s + 1;
  EXPECT_EQ(error_of([&] { file.write_collective(pieces); }).code(), Code::locked);
  EXPECT_EQ(calls, (std::vector<std::size_t>{2, 0}));
}

// -- names that a client of a network file system remembers ---------------------------------------

/// A client that has looked for the journal before it was there, and believes that until it reads
/// the folder.
class Remembering final : public storage::ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  bool exists(const std::string& path) override {
    return !is_forgotten(path) && ForwardingStorage::exists(path);
  }
  std::vector<std::string> list(const std::string& path) override {
    has_looked_ = true;
    return ForwardingStorage::list(path);
  }

 private:
  bool is_forgotten(const std::string& path) const {
    return !has_looked_ && path.ends_with(".sluice-journal");
  }
  bool has_looked_ = false;
};

TEST_F(TwoPrograms, AJournalThatIsNotSeenYetIsNotLost) {
  leave(3);
  {
    std::fstream file(left(), std::ios::binary | std::ios::in | std::ios::out);
    file.put('\0');  // the guard
  }
  storage_ = std::make_shared<Remembering>(storage_);
  expect_steps(left(), 3);
  storage_ = std::make_shared<Remembering>(storage::make("posix"));
  commit::recover_unattended(*storage_, left(), false);
  expect_steps(left(), 3);
}

}  // namespace
}  // namespace sluice::test
