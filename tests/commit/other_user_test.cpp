// A user who may write a file, but does not own it, appends to it: only the owner of a file may set
// its time of modification, which must not be a failure.
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/file/file_impl.hpp"
#include "commit/tools/verify.hpp"
#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"
#include "support/local_transport.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using storage::error_of;

constexpr uid_t nobody = 65534;
const Shape shape{6};

class OtherUser : public testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return scratch_ / ("out" + std::string(GetParam())); }

  void write(storage::Storage* disk, Mode mode, std::uint64_t key, Durability durability) {
    const std::shared_ptr<storage::Storage> borrowed(std::shared_ptr<void>(), disk);
    Options options;
    options.strategy = "shared";
    options.format = std::string(GetParam()) == ".records" ? "records" : "auto";
    options.durability = durability;
    exec::run_local(2, 1, [&](exec::Transport& transport) {
      File out(detail::open_on(transport, borrowed, path(), mode, options));
      const Variable v = out.define<double>("density", shape, {.steps = true});
      Giver<double> giver;
      Step step = out.begin_step();
      giver.put(step, v, key, shape, slab(shape, transport.rank(), transport.size()));
      step.end();
      out.close();
    });
  }
  void expect(const std::vector<std::uint64_t>& keys) {
    exec::run_local(1, 1, [&](exec::Transport& transport) {
      File in(detail::open_on(transport, storage::make_posix(), path(), Mode::read, {}));
      ASSERT_EQ(in.steps(), keys.size());
      for (std::uint64_t s = 0; s < keys.size(); ++s) {
        expect_values<double>(in, "density", keys[s], shape, whole_box(shape), s);
      }
    });
  }
  /// In a process of another user, without a mask of permissions if `is_open`.
  void write_as_nobody(Mode mode, std::uint64_t key, Durability durability, bool is_open) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (is_open) ::umask(0);
      const bool changed =
          ::setgroups(0, nullptr) == 0 && ::setgid(nobody) == 0 && ::setuid(nobody) == 0;
      const Error error =
          error_of([&] { write(storage::make_posix().get(), mode, key, durability); });
      if (error.code() != Code::ok) fprintf(stderr, "%s\n", error.what());
      ::_exit(changed && error.code() == Code::ok ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  void open_to_all() {
    fs::permissions(scratch_.folder(), fs::perms::all);
    fs::permissions(path(), fs::perms::all);
    if (fs::is_directory(path())) {
      for (const auto& entry : fs::recursive_directory_iterator(path())) {
        fs::permissions(entry.path(), fs::perms::all);
      }
    }
  }

  storage::Scratch scratch_;
};

class OtherUserInPlace : public OtherUser {};
class OtherUserInDropBox : public OtherUser {};

TEST_P(OtherUser, AppendsToAFileThatItMayWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user, whom only root can be";
  for (const Durability durability : {Durability::close, Durability::step}) {
    fs::remove_all(path());
    write(storage::make_posix().get(), Mode::write, 1, durability);
    open_to_all();
    write_as_nobody(Mode::append, 2, durability, true);
    expect({1, 2});
  }
}

/// A folder such as /tmp, in which nobody removes what is another user's: here the record of the
/// lease of a run that was killed.
TEST_P(OtherUserInPlace, AppendsInAStickyFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user, whom only root can be";
  write(storage::make_posix().get(), Mode::write, 1, Durability::step);
  open_to_all();
  const std::string record = path() + ".sluice-lease";
  std::ofstream(record) << "host other, process 7\nsluice-lease 1 kernel-x 1 7 99 lock\n";
  fs::permissions(record, fs::perms{0666});
  fs::permissions(scratch_.folder(), fs::perms{01777});
  write_as_nobody(Mode::append, 2, Durability::step, true);
  expect({1, 2});
}

/// A drop-box: its folder may be written and searched, but not listed.
TEST_P(OtherUserInDropBox, WritesADurableFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user, whom only root can be";
  for (const Durability durability : {Durability::close, Durability::step}) {
    fs::remove_all(path());
    fs::permissions(scratch_.folder(), fs::perms{0733});
    write_as_nobody(Mode::write, 1, durability, false);
    expect({1});
  }
}

// The same without a second user: the call is made to fail in the same way.
TEST_P(OtherUser, ATimeThatMayNotBeSetFailsNoStep) {
  storage::SystemCalls calls = storage::real_system_calls();
  calls.futimens = [](int, const timespec[2]) {
    errno = EPERM;
    return -1;
  };
  write(storage::make_posix().get(), Mode::write, 1, Durability::close);
  write(storage::make_posix(calls).get(), Mode::append, 2, Durability::close);
  expect({1, 2});
}

// For formats in which the commit is not complete before the time is set.
TEST_P(OtherUserInPlace, AnotherFailureToSetItIsOne) {
  storage::SystemCalls calls = storage::real_system_calls();
  calls.futimens = [](int, const timespec[2]) {
    errno = EIO;
    return -1;
  };
  write(storage::make_posix().get(), Mode::write, 1, Durability::close);
  const Error error = error_of(
      [&] { write(storage::make_posix(calls).get(), Mode::append, 2, Durability::close); });
  EXPECT_EQ(error.code(), Code::io) << error.what();
}

INSTANTIATE_TEST_SUITE_P(Each, OtherUserInDropBox, testing::Values(".h5", ".nc", ".npy"),
                         [](const auto& which) { return std::string(which.param + 1); });
INSTANTIATE_TEST_SUITE_P(Each, OtherUserInPlace, testing::Values(".npy", ".records"),
                         [](const auto& which) { return std::string(which.param + 1); });
INSTANTIATE_TEST_SUITE_P(Each, OtherUser,
                         testing::Values(".h5", ".nc", ".npy", ".records", ".zarr"),
                         [](const auto& which) { return std::string(which.param + 1); });

}  // namespace
}  // namespace sluice::test
