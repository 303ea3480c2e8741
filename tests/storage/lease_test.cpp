// The writer lease: one writer at a time, named to the other; gone with its process however that
// ends; of no concern to readers.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <locale>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "api/file/file_impl.hpp"
#include "storage/lease_record.hpp"
#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"
#include "storage/storage.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"

namespace sluice::storage {
namespace {

/// A process that holds the lease of a file until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    int ready[2];
    if (::pipe(ready) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ready[0]);
      const auto lease = make_posix()->lease(path);
      const char sign = lease ? 'y' : 'n';
      if (::write(ready[1], &sign, 1) != 1) ::_exit(1);
      ::pause();
      ::_exit(0);
    }
    ::close(ready[1]);
    char sign = 0;
    const ssize_t got = ::read(ready[0], &sign, 1);
    ::close(ready[0]);
    has_lease_ = got == 1 && sign == 'y';
  }
  ~Holder() { kill(); }
  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }
  pid_t pid() const { return pid_; }
  bool has_lease() const { return has_lease_; }

 private:
  pid_t pid_ = -1;
  bool has_lease_ = false;
};

Options quick() {
  Options options;
  options.strategy = "serial";
  options.durability = Durability::none;
  return options;
}

void write_file(exec::Transport& transport, const std::shared_ptr<Storage>& storage,
                const std::string& path) {
  sluice::File out(detail::open_on(transport, storage, path, Mode::write, quick()));
  const Variable v = out.define<double>("v", {2});
  const double values[] = {1, 2};
  if (transport.rank() == 0) out.put<double>(v, values);
  out.close();
}

TEST(Lease, ASecondWriterIsRefusedAndToldWho) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  const Holder holder(path);
  if (!holder.has_lease()) GTEST_SKIP() << "this file system has no open-file-description locks";
  const Error error = error_of([&] { make_posix()->lease(path); });
  EXPECT_EQ(error.code(), Code::locked);
  EXPECT_NE(std::string(error.what()).find("process " + std::to_string(holder.pid())),
            std::string::npos)
      << error.what();
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  EXPECT_NE(std::string(error.what()).find(host), std::string::npos) << error.what();
  EXPECT_EQ(std::string(error.what()).find("this program"), std::string::npos) << error.what();
}

TEST(Lease, IsGoneAfterItsHolderWasKilled) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  Holder holder(path);
  if (!holder.has_lease()) GTEST_SKIP() << "this file system has no open-file-description locks";
  holder.kill();
  EXPECT_EQ(error_of([&] { EXPECT_NE(make_posix()->lease(path), nullptr); }).code(), Code::ok);
}

TEST(Lease, TwoFilesOfOneProcessExcludeEachOther) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  const auto storage = make_posix();
  auto first = storage->lease(path);
  if (!first) GTEST_SKIP() << "this file system has no open-file-description locks";
  const Error error = error_of([&] { storage->lease(path); });
  EXPECT_EQ(error.code(), Code::locked);
  EXPECT_NE(std::string(error.what()).find("by this program, host "), std::string::npos)
      << error.what();
  EXPECT_NE(std::string(error.what()).find("close that file first"), std::string::npos)
      << error.what();
  first.reset();
  EXPECT_EQ(error_of([&] { storage->lease(path); }).code(), Code::ok);
  EXPECT_FALSE(storage->exists(path + ".sluice-lease")) << "a lease leaves no record behind";
}

TEST(Lease, EveryRankOfASecondRunIsRefusedAndTheFileStaysAsItIs) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  const auto storage = make_posix();
  exec::run_local(2, 1, [&](exec::Transport& t) { write_file(t, storage, path); });
  const Holder holder(path);
  if (!holder.has_lease()) GTEST_SKIP() << "this file system has no open-file-description locks";
  for (const Mode mode : {Mode::write, Mode::append}) {
    exec::run_local(2, 1, [&](exec::Transport& transport) {
      const Error error =
          error_of([&] { detail::open_on(transport, storage, path, mode, quick()); });
      EXPECT_EQ(error.code(), Code::locked) << error.what();
    });
  }
  EXPECT_FALSE(storage->exists(path + ".sluice-new"));
}

TEST(Lease, ReadersAreNotConcerned) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  const auto storage = make_posix();
  exec::run_local(2, 1, [&](exec::Transport& t) { write_file(t, storage, path); });
  const Holder holder(path);
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    sluice::File in(detail::open_on(transport, storage, path, Mode::read, {}));
    double values[2] = {};
    in.get<double>(in.find("v"), values);
    EXPECT_EQ(values[1], 2);
  });
}

// -- where the file system has no locks -----------------------------------------------------------

thread_local int lock_errno = 0;

std::shared_ptr<Storage> without_locks(int problem) {
  lock_errno = problem;
  SystemCalls calls = real_system_calls();
  calls.lock = [](int, short) {
    errno = lock_errno;
    return -1;
  };
  return make_posix(calls);
}

std::string record_of(const std::string& path) { return path + ".sluice-lease"; }

/// As a holder that is not of this system left it, `age_s` ago.
void make_record(const std::string& path, const std::string& how, int age_s) {
  {
    const auto file = make_posix()->open(record_of(path), Access::create);
    file->write(0, bytes_of("host other, process 7\nsluice-lease 1 kernel-x 1 7 99 " + how + "\n"));
  }
  const timespec times[2] = {{::time(nullptr) - age_s, 0}, {::time(nullptr) - age_s, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, record_of(path).c_str(), times, 0), 0);
}

TEST(LeaseWithoutLocks, TheFileItselfExcludes) {
  for (const int problem : {ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL}) {
    const Scratch scratch;
    const std::string path = scratch / "out.h5";
    const auto storage = without_locks(problem);
    auto first = storage->lease(path);
    ASSERT_NE(first, nullptr);
    EXPECT_NE(first->notice().find("no locks"), std::string::npos) << first->notice();
    const Error error = error_of([&] { storage->lease(path); });
    EXPECT_EQ(error.code(), Code::locked);
    EXPECT_NE(std::string(error.what()).find("process " + std::to_string(::getpid())),
              std::string::npos)
        << error.what();
    // A writer of another host, whose locks work, does not take it for free.
    EXPECT_EQ(error_of([&] { make_posix()->lease(path); }).code(), Code::locked);
    EXPECT_EQ(error_of([&] { first->check(); }).code(), Code::ok);
    first.reset();
    EXPECT_FALSE(storage->exists(record_of(path)));
    EXPECT_NE(storage->lease(path), nullptr);
  }
}

TEST(LeaseWithoutLocks, AnyOtherFailureIsAnError) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  const Error error = error_of([&] { without_locks(EIO)->lease(path); });
  EXPECT_EQ(error.code(), Code::io) << error.what();
}

TEST(LeaseWithoutLocks, ThatOfADeadProcessIsTakenOver) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  const auto storage = without_locks(ENOLCK);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lease = storage->lease(path);
    ::kill(::getpid(), SIGKILL);
  }
  // Also where its parent has not asked for its end: ranks of a launcher that was killed.
  siginfo_t end = {};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT), 0);
  ASSERT_TRUE(storage->exists(record_of(path)));
  EXPECT_NE(storage->lease(path), nullptr);
  EXPECT_FALSE(storage->exists(record_of(path) + "-takeover"));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(LeaseWithoutLocks, ThatOfAnotherHostIsTakenOverOnceItIsNotRenewed) {
  for (const auto& storage : {without_locks(ENOLCK), make_posix()}) {
    const Scratch scratch;
    make_record(scratch / "old", "file", 600);
    EXPECT_NE(storage->lease(scratch / "old"), nullptr);
    make_record(scratch / "young", "file", 30);
    EXPECT_EQ(error_of([&] { storage->lease(scratch / "young"); }).code(), Code::locked);
    EXPECT_TRUE(storage->exists(record_of(scratch / "young")));
  }
  // One that holds it by a lock does not renew: nobody without locks can tell.
  const Scratch scratch;
  make_record(scratch / "locked", "lock", 600);
  const Error error = error_of([&] { without_locks(ENOLCK)->lease(scratch / "locked"); });
  EXPECT_EQ(error.code(), Code::locked);
  EXPECT_NE(std::string(error.what()).find("remove"), std::string::npos) << error.what();
}

/// As a process left it that was killed while it took a record over.
void leave_takeover(const std::string& path) {
  make_record(path, "file", 1000);
  make_posix()->open(record_of(path) + "-takeover", Access::create);
}

TEST(LeaseWithoutLocks, ATakeoverThatWasKilledIsNamed) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  leave_takeover(path);
  const Error error = error_of([&] { without_locks(ENOLCK)->lease(path); });
  EXPECT_EQ(error.code(), Code::locked);
  EXPECT_NE(std::string(error.what()).find("remove " + record_of(path) + "-takeover"),
            std::string::npos)
      << error.what();
}

TEST(Lease, ATakeoverThatWasKilledDoesNotStandInTheWay) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  const auto storage = make_posix();
  leave_takeover(path);
  EXPECT_EQ(error_of([&] { storage->lease(path); }).code(), Code::ok);
  EXPECT_FALSE(storage->exists(record_of(path) + "-takeover"));
}

TEST(LeaseWithoutLocks, WhoLostItIsTold) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  const auto storage = without_locks(ENOLCK);
  const auto lease = storage->lease(path);
  storage->remove(record_of(path));
  const auto other = storage->lease(path);
  EXPECT_EQ(error_of([&] { lease->check(); }).code(), Code::locked);
  EXPECT_EQ(error_of([&] { other->check(); }).code(), Code::ok);
}

TEST(LeaseWithoutLocks, OneOfManyThatComeAtOnceGetsIt) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  make_record(path, "file", 600);  // stale: all of them want to take it over
  std::atomic<int> got = 0;
  std::atomic<int> waiting = 8;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      const auto storage = without_locks(ENOLCK);
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      std::unique_ptr<Lease> lease;
      const Error error = error_of([&] { lease = storage->lease(path); });
      got += lease ? 1 : 0;
      EXPECT_TRUE(lease || error.code() == Code::locked) << error.what();
      --waiting;
      while (waiting > -8) std::this_thread::yield();  // held until all have tried
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(got, 1);
}

TEST(LeaseWithoutLocks, ASecondWriterIsRefusedAndTheUserIsTold) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  const auto storage = without_locks(ENOLCK);
  std::vector<std::string> said;
  set_message_handler([&](const std::string& text) { said.push_back(text); });
  exec::run_local(1, 1, [&](exec::Transport& transport) {
    lock_errno = ENOLCK;
    sluice::File out(detail::open_on(transport, storage, path, Mode::write, quick()));
    const Error error =
        error_of([&] { detail::open_on(transport, storage, path, Mode::write, quick()); });
    EXPECT_EQ(error.code(), Code::locked) << error.what();
    const Variable v = out.define<double>("v", {2}, {.steps = true});
    const double values[] = {1, 2};
    Step step = out.begin_step();
    step.put<double>(v, values);
    step.end();
    storage->remove(record_of(path));  // as one that takes it over does
    Step late = out.begin_step();
    late.put<double>(v, values);
    EXPECT_EQ(error_of([&] { late.end(); }).code(), Code::locked);
  });
  set_message_handler(nullptr);
  ASSERT_FALSE(said.empty());
  EXPECT_NE(said[0].find("no locks"), std::string::npos) << said[0];
}

TEST(Lease, AChildThatOutlivesItsParentDoesNotKeepIt) {
  const Scratch scratch;
  const std::string path = scratch / "out.h5";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const auto lease = make_posix()->lease(path);
    const pid_t heir = ::fork();
    if (heir == 0) {
      ::pause();
      ::_exit(0);
    }
    if (::write(ready[1], &heir, sizeof heir) != sizeof heir) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  pid_t heir = 0;
  ASSERT_EQ(::read(ready[0], &heir, sizeof heir), static_cast<ssize_t>(sizeof heir));
  ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);
  const Error error = error_of([&] { EXPECT_NE(make_posix()->lease(path), nullptr); });
  EXPECT_EQ(error.code(), Code::ok) << error.what();
  ::kill(heir, SIGKILL);
  ::close(ready[0]);
  ::close(ready[1]);
}

// -- two that come to the record of a process that has ended -------------------------------------

void (*meanwhile)() = nullptr;  ///< called once, as one is about to take the record over

std::shared_ptr<Storage> with_race(void (*action)()) {
  meanwhile = action;
  SystemCalls calls = real_system_calls();
  calls.openat = [](int folder, const char* name, int flags, mode_t mode) {
    if (std::string(name).find("-takeover") != std::string::npos && meanwhile != nullptr) {
      std::exchange(meanwhile, nullptr)();
    }
    return real_system_calls().openat(folder, name, flags, mode);
  };
  return make_posix(calls);
}

/// As a process left it that was killed while it had the lease.
void leave_record(const std::string& path) {
  Holder holder(path);
  holder.kill();
}

TEST(Lease, WhoHasJustTakenItOverIsNotMistakenForTheOneBefore) {
  const Scratch scratch;
  static std::string path;
  path = scratch / "out.h5";
  leave_record(path);
  // The other one has the lock, and writes the record while this one has read the old one.
  static int fd = -1;
  fd = ::open(record_of(path).c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(real_system_calls().lock(fd, F_WRLCK), 0);
  const auto storage = with_race([] {
    const std::string text = own_holder(false).record();
    ASSERT_EQ(::ftruncate(fd, 0), 0);
    ASSERT_EQ(::pwrite(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  });
  const Error error = error_of([&] { storage->lease(path); });
  EXPECT_EQ(error.code(), Code::locked) << error.what();
  EXPECT_EQ(meanwhile, nullptr);
  EXPECT_TRUE(storage->exists(record_of(path))) << "the record of the one that has the lock";
  EXPECT_FALSE(storage->exists(record_of(path) + "-takeover"));
  ::close(fd);
}

/// As std::locale::global() of many countries does in a program.
class Grouped : public std::numpunct<char> {
 public:
  explicit Grouped(char separator) : separator_(separator) {}

 protected:
  char do_thousands_sep() const override { return separator_; }
  std::string do_grouping() const override { return "\3"; }

 private:
  char separator_;
};

TEST(Lease, ARecordIsTheSameInEveryLocale) {
  LeaseHolder holder;
  holder.text = "host h, process 1234567";
  holder.kernel = "kernel";
  holder.pids = "4026531836";
  holder.process = 1234567;
  holder.start = 98765432;
  const std::string record = holder.record();
  for (const char separator : {'.', ' '}) {
    const std::locale before =
        std::locale::global(std::locale(std::locale::classic(), new Grouped(separator)));
    EXPECT_EQ(holder.record(), record);
    const LeaseHolder found = parse_holder(record);
    const bool is_running_now = is_running(own_holder(false)).value_or(false);
    std::locale::global(before);
    EXPECT_TRUE(found.is_known);
    EXPECT_EQ(found.process, holder.process);
    EXPECT_EQ(found.start, holder.start);
    EXPECT_TRUE(is_running_now);
  }
}

/// Cut to the 32 bits of a number of a process, it would be one that runs.
TEST(Lease, ANumberThatNoProcessHasIsNoHolder) {
  LeaseHolder planted = own_holder(true);
  planted.process += std::int64_t{1} << 32;
  const LeaseHolder found = parse_holder(planted.record());
  EXPECT_FALSE(found.is_known);
  EXPECT_FALSE(is_running(found).has_value());
}

TEST(Lease, ARecordThatWasRemovedMeanwhileIsNotTaken) {
  const Scratch scratch;
  static std::string path;
  path = scratch / "out.h5";
  leave_record(path);
  const auto storage = with_race([] { ASSERT_EQ(::unlink(record_of(path).c_str()), 0); });
  const auto lease = storage->lease(path);
  EXPECT_EQ(meanwhile, nullptr) << "the old record was taken without a look at others";
  ASSERT_TRUE(storage->exists(record_of(path)));
  EXPECT_EQ(error_of([&] { lease->check(); }).code(), Code::ok);
  EXPECT_EQ(error_of([&] { make_posix()->lease(path); }).code(), Code::locked);
}

TEST(Lease, OneOfManyThatFindTheRecordOfADeadHolderGetsIt) {
  constexpr int many = 8;
  for (int round = 0; round < 20; ++round) {
    const Scratch scratch;
    const std::string path = scratch / "out.h5";
    leave_record(path);
    std::atomic<int> got = 0;
    std::atomic<int> left = many;
    std::vector<std::thread> threads;
    for (int t = 0; t < many; ++t) {
      threads.emplace_back([&] {
        std::unique_ptr<Lease> lease;
        const Error error = error_of([&] { lease = make_posix()->lease(path); });
        EXPECT_TRUE(lease || error.code() == Code::locked) << error.what();
        got += lease ? 1 : 0;
        --left;
        while (left > 0) std::this_thread::yield();  // held until all have tried
        if (lease) {
          EXPECT_EQ(error_of([&] { lease->check(); }).code(), Code::ok);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(got, 1);
  }
}

TEST(Lease, OfMemoryBehavesAlike) {
  const auto storage = make_memory();
  auto first = storage->lease("a");
  EXPECT_EQ(error_of([&] { storage->lease("./a"); }).code(), Code::locked);
  EXPECT_EQ(error_of([&] { storage->lease("b"); }).code(), Code::ok);
  first.reset();
  EXPECT_EQ(error_of([&] { storage->lease("a"); }).code(), Code::ok);
}

}  // namespace
}  // namespace sluice::storage
