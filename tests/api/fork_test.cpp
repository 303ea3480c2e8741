// A process forked while files are open: its copies do nothing, and their calls are errors; the
// parent continues, and the child may open files of its own.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sluice/checkpoint.hpp>
#include <sluice/records.hpp>
#include <sluice/service.h>
#include <sluice/session.hpp>
#include <sluice/sluice.h>
#include <sluice/sluice.hpp>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "api/checkpoint/checkpoint_impl.hpp"
#include "api/file/file_impl.hpp"
#include "exec/transport/solo_transport.hpp"
#include "storage/scratch.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using storage::error_of;

/// The allocator of GCC 12's AddressSanitizer is not safe to fork: a child waits forever for its
/// lock where another thread held it. glibc's is. So under AddressSanitizer, and there alone, a
/// fork waits until every other thread has slept for a while.
void let_threads_sleep() {
#if defined(SLUICE_ADDRESS_SANITIZER)
  const auto all_sleep = [] {
    for (const auto& thread : fs::directory_iterator("/proc/self/task")) {
      if (thread.path().filename() == std::to_string(::getpid())) continue;
      std::ifstream in(thread.path() / "stat");
      std::string line;
      std::getline(in, line);
      const std::size_t name_end = line.rfind(')');  // "tid (name) S ..."
      if (name_end != std::string::npos && line.substr(name_end + 2, 1) != "S") return false;
    }
    return true;
  };
  int looks_asleep = 0;
  for (int look = 0; look < 10'000 && looks_asleep < 20; ++look) {
    looks_asleep = all_sleep() ? looks_asleep + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
#endif
}

/// Runs `body` in a child with a limit of 30 s; the result says what was wrong.
void expect_of_child(const std::function<std::string()>& body) {
  let_threads_sleep();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    std::string wrong;
    try {
      wrong = body();
    } catch (const std::exception& e) {
      wrong = std::string("threw ") + e.what();
    }
    if (!wrong.empty()) fprintf(stderr, "the child: %s\n", wrong.c_str());
    ::_exit(wrong.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0);
}

/// Empty if `action` throws Error wrong_state that mentions the fork.
template <class Action>
std::string wrong_unless_refused(const char* what, Action&& action) {
  const Error error = error_of(action);
  const bool is_right = error.code() == Code::wrong_state &&
                        std::string(error.what()).find("fork") != std::string::npos;
  return is_right ? "" : std::string(what) + ": " + error.what();
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    names.push_back(entry.path().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

enum class Made : std::uint8_t { by_fork, by_clone };

/// A child that does nothing, made while SIGTERM makes a checkpoint due; how SIGTERM ends it.
int status_of_terminated(Made made) {
  let_threads_sleep();
  int ready[2];
  EXPECT_EQ(::pipe(ready), 0);
  // Without the handlers of pthread_atfork.
  const auto child = made == Made::by_fork
                         ? ::fork()
                         : static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    ::alarm(30);
    static_cast<void>(::write(ready[1], "", 1));
    while (true) ::pause();
  }
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, SIGTERM);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  ::close(ready[0]);
  ::close(ready[1]);
  return status;
}

TEST(ForkWithACheckpoint, AChildIsEndedByTheSignalsThatMakeOneDue) {
  const storage::Scratch scratch;
  Checkpoint checkpoint(std::make_unique<detail::CheckpointImpl>(
      exec::make_solo(), scratch / "state.h5", CheckpointOptions{.interval_calls = 1000}));
  EXPECT_FALSE(checkpoint.due());
  for (const Made made : {Made::by_fork, Made::by_clone}) {
    const int status = status_of_terminated(made);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
    EXPECT_FALSE(checkpoint.due());
  }
  ASSERT_EQ(std::raise(SIGTERM), 0);  // here it is noted as before
  EXPECT_TRUE(checkpoint.due());
  EXPECT_TRUE(checkpoint.ending());
  checkpoint.close();
}

struct Case {
  const char* name;
  const char* file;
  const char* strategy;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Fork : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<File> open(const std::string& path, Mode mode) const {
    Options options;
    options.strategy = GetParam().strategy;
    return std::make_unique<File>(
        std::make_unique<detail::FileImpl>(exec::make_solo(), path, mode, options));
  }
  static void put_step(File& file, double value) {
    const Variable v = file.define<double>("v", {3}, {.steps = true});
    const double values[] = {value, value, value};
    Step step = file.begin_step();
    step.put<double>(v, values);
    step.end();
  }
  void expect_steps(const std::string& path, std::uint64_t steps) const {
    const auto in = open(path, Mode::read);
    ASSERT_EQ(in->steps(), steps);
    for (std::uint64_t s = 0; s < steps; ++s) {
      double values[3] = {};
      in->get<double>(in->find("v"), values, {}, s);
      EXPECT_EQ(values[2], static_cast<double>(s));
    }
  }

  storage::Scratch scratch_;
  const std::string path_ = scratch_ / GetParam().file;
};

TEST_P(Fork, AChildThatEndsLeavesTheFileAlone) {
  auto file = open(path_, Mode::write);
  for (int s = 0; s < 3; ++s) {
    if (s > 0) file->drain(30);  // what is on its way changes names, too
    const auto before = names_in(scratch_.folder());
    expect_of_child([&]() -> std::string {
      file.reset();  // as the end of a scope does
      return {};
    });
    EXPECT_EQ(names_in(scratch_.folder()), before);
    put_step(*file, s);
  }
  EXPECT_EQ(error_of([&] { open(path_, Mode::append); }).code(), Code::locked)
      << "the lease is still held";
  file->close();
  expect_steps(path_, 3);
}

TEST_P(Fork, CallsInAChildAreErrors) {
  auto file = open(path_, Mode::write);
  put_step(*file, 0);
  const Variable v = file->define<double>("v", {3}, {.steps = true});
  const double values[] = {1, 1, 1};
  Step step = file->begin_step();
  expect_of_child([&]() -> std::string {
    std::string wrong;
    wrong += wrong_unless_refused("put", [&] { step.put<double>(v, values); });
    wrong += wrong_unless_refused("end", [&] { step.end(); });
    wrong += wrong_unless_refused("define", [&] { file->define<double>("w", {3}); });
    wrong += wrong_unless_refused("begin_step", [&] { static_cast<void>(file->begin_step()); });
    wrong += wrong_unless_refused("flush", [&] { file->flush(); });
    wrong += wrong_unless_refused("poll", [&] { file->poll(); });
    wrong += wrong_unless_refused("drain", [&] { file->drain(1); });
    wrong += wrong_unless_refused("close", [&] { file->close(); });
    file.reset();
    return wrong;
  });
  step.put<double>(v, values);
  const Ticket ticket = step.end();
  if (std::string(GetParam().strategy) == "forward") {
    expect_of_child([&] { return wrong_unless_refused("wait", [&] { ticket.wait(); }); });
  }
  file->close();
  expect_steps(path_, 2);

  auto in = open(path_, Mode::read);
  expect_of_child([&]() -> std::string {
    double got[3] = {};
    std::string wrong = wrong_unless_refused("steps", [&] { in->steps(); });
    wrong += wrong_unless_refused("get", [&] { in->get<double>(v, got, {}, 0); });
    in.reset();
    return wrong;
  });
  expect_steps(path_, 2);
}

TEST_P(Fork, AChildWritesFilesOfItsOwn) {
  auto file = open(path_, Mode::write);
  put_step(*file, 0);
  const std::string other = scratch_ / ("child-" + std::string(GetParam().file));
  expect_of_child([&]() -> std::string {
    auto own = open(other, Mode::write);
    put_step(*own, 0);
    own->close();
    return {};
  });
  put_step(*file, 1);
  file->close();
  expect_steps(path_, 2);
  expect_steps(other, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Each, Fork,
    testing::Values(Case{"serial", "a.h5", "serial"}, Case{"shared", "a.h5", "shared"},
                    Case{"forward", "a.h5", "forward"}, Case{"zarr", "a.zarr", "shared"},
                    Case{"npy", "a.npy", "shared"}, Case{"parts", "a.h5", "file-per-process"}),
    [](const auto& which) { return std::string(which.param.name); });

TEST(ForkOther, SessionsAndRecords) {
  const storage::Scratch scratch;
  auto records = std::make_unique<Records>(scratch / "a.records", Mode::write, 2);
  const std::int32_t number = 7;
  records->write(&number, 1);
  expect_of_child([&]() -> std::string {
    std::string wrong = wrong_unless_refused("write", [&] { records->write(&number, 1); });
    wrong += wrong_unless_refused("commit", [&] { records->commit(); });
    wrong += wrong_unless_refused("close", [&] { records->close(); });
    records.reset();
    return wrong;
  });
  records->commit();
  records->close();
  Records in(scratch / "a.records", Mode::read, 2);
  EXPECT_EQ(in.groups(), 1U);
}

// The C interface, which Fortran and Python use.
TEST(ForkOther, HandlesOfC) {
  const storage::Scratch scratch;
  const std::string path = scratch / "a.h5";
  sluice_file* file = nullptr;
  ASSERT_EQ(sluice_open_serial(path.c_str(), "w", "", &file), SLUICE_OK);
  const auto before = names_in(scratch.folder());
  expect_of_child([&]() -> std::string {
    if (sluice_begin_step(file, 0) != SLUICE_ERROR_WRONG_STATE) return "begin_step";
    if (sluice_close(file) != SLUICE_ERROR_WRONG_STATE) return "close";
    if (std::string(sluice_last_error(file)).find("fork") == std::string::npos) return "message";
    sluice_free(file);
    return {};
  });
  EXPECT_EQ(names_in(scratch.folder()), before);
  EXPECT_EQ(sluice_close(file), SLUICE_OK);
  sluice_free(file);

  sluice_service* service = nullptr;
  const std::string data = scratch / "data";
  ASSERT_EQ(sluice_service_open(0, 1, data.c_str(), "w", "", &service), SLUICE_OK);
  expect_of_child([&]() -> std::string {
    if (sluice_service_close(service) != SLUICE_ERROR_WRONG_STATE) return "service";
    sluice_service_free(service);
    return {};
  });
  sluice_service_free(service);
}

}  // namespace
}  // namespace sluice
