// The writer lease: one writer at a time, named to the other; gone with its process however that
// ends; of no concern to readers.
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/file_impl.hpp"
#include "exec/local_transport.hpp"
#include "storage/memory.hpp"
#include "storage/scratch.hpp"
#include "storage/storage.hpp"

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
  EXPECT_EQ(error_of([&] { storage->lease(path); }).code(), Code::locked);
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
