// T4: a really full disk, and a limit that is really reached, in the middle of a run: the same
// error on every rank or a step that is left out, the earlier steps intact, and the run continues
// once there is space. What was put before such a step is kept, or is to be put again.
#include <filesystem>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "api/file/file_impl.hpp"
#include "commit/tools/verify.hpp"
#include "storage/scratch.hpp"
#include "storage/small_disk.hpp"
#include "support/local_transport.hpp"
#include "support/part_paths.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

const Shape shape{64, 1024};  // 512 KiB a step
const Shape grid_shape{64, 16};
constexpr std::uint64_t grid_key = 7;
constexpr std::uint64_t step_bytes = 512 << 10;
constexpr std::uint64_t disk_bytes = 8 << 20;

struct Case {
  const char* name;
  const char* strategy;
  const char* format = "hdf5";
  const char* form = "stacked";
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{{"serial", "serial"},
                                     {"shared", "shared"},
                                     {"collective", "collective"},
                                     {"netcdf4", "shared", "netcdf4"},
                                     {"grouped", "shared", "hdf5", "grouped"},
                                     {"per_process", "file-per-process"}};
  return all;
}

/// Free bytes (or bytes up to the limit) when the step comes: none, less than its values, and
/// enough for them but maybe not for what goes with them.
std::vector<std::uint64_t> places() {
  std::vector<std::uint64_t> found{0, 4096, step_bytes / 2, step_bytes, step_bytes + 8192};
  for (std::uint64_t extra = 0; is_long() && extra < 45; ++extra) {
    found.push_back(extra % 3 == 0 ? extra * 11000 : step_bytes + (extra - 20) * 4096);
  }
  return found;
}

struct Trial {
  std::string path;
  std::shared_ptr<storage::Storage> storage = storage::make_posix();
  Options options;
  std::vector<std::uint64_t> keys;  ///< of the steps that must be there
  int refused = 0;
};

Trial make_trial(const std::string& path, const Case& c, OnError on_error) {
  Trial trial;
  trial.path = path;
  trial.options.strategy = c.strategy;
  trial.options.format = c.format;
  trial.options.hdf5_layout = c.form;
  trial.options.on_error = on_error;
  return trial;
}

struct Variables {
  Variable density;
  Variable grid;             ///< without steps
  bool is_grid_due = false;  ///< it is put before the next step
};

/// Ends a step on every rank: was it written? The ranks must agree.
bool try_step(exec::Transport& transport, File& out, Variables& variables, std::uint64_t key,
              OnError on_error) {
  Giver<double> giver;
  const std::uint64_t before = out.steps();
  if (std::exchange(variables.is_grid_due, false)) {
    giver.put(out, variables.grid, grid_key, grid_shape,
              slab(grid_shape, transport.rank(), transport.size()));
  }
  bool is_there = false;
  std::string error;
  try {
    Step step = out.begin_step({.time = static_cast<double>(key)});
    giver.put(step, variables.density, key, shape, slab(shape, transport.rank(), transport.size()));
    const Ticket ticket = step.end();
    is_there = !ticket.skipped();
    EXPECT_EQ(ticket.step(), before);
    EXPECT_TRUE(ticket.durable() || ticket.skipped());
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::no_space) << e.what();
    error = e.what();
    variables.is_grid_due = error.find("put before the step") != std::string::npos;
    EXPECT_TRUE(on_error == OnError::fail || variables.is_grid_due) << error;
  }
  EXPECT_EQ(out.steps(), before + (is_there ? 1 : 0));
  std::int64_t same[] = {is_there ? 1 : 0, is_there ? 0 : 1,
                         static_cast<std::int64_t>(std::hash<std::string>{}(error) >> 1),
                         -static_cast<std::int64_t>(std::hash<std::string>{}(error) >> 1)};
  transport.allreduce(same, exec::Op::max);
  EXPECT_EQ(same[0] + same[1], 1) << "the ranks disagree";
  EXPECT_EQ(same[2], -same[3]) << "the ranks have different errors";
  return is_there;
}

/// Two steps; `fill` takes the space; two tries; `free` gives it back; two more steps.
void run(Trial& trial, const std::function<void()>& fill, const std::function<void()>& free) {
  exec::run_local(4, 3, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, trial.storage, trial.path, Mode::write, trial.options));
    Variables variables;
    variables.density = out.define<double>("density", shape, {.steps = true});
    variables.grid = out.define<double>("grid", grid_shape);
    for (std::uint64_t key = 100; key < 106; ++key) {
      transport.barrier();
      if (transport.rank() == 0 && (key == 102 || key == 104)) {
        key == 102 ? fill() : free();
      }
      transport.barrier();
      variables.is_grid_due = variables.is_grid_due || key == 102;
      const bool is_there = try_step(transport, out, variables, key, trial.options.on_error);
      EXPECT_TRUE(is_there || key == 102 || key == 103) << "key " << key;
      if (transport.rank() == 0 && is_there) {
        trial.keys.push_back(key);
      }
      trial.refused += transport.rank() == 0 && !is_there ? 1 : 0;
    }
    out.close();
  });
}

void expect_steps(const Trial& trial) {
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, trial.storage, trial.path, Mode::read, {}));
    ASSERT_EQ(in.steps(), trial.keys.size());
    for (std::uint64_t s = 0; s < trial.keys.size(); ++s) {
      expect_values<double>(in, "density", trial.keys[s], shape, whole_box(shape), s);
      EXPECT_EQ(in.time(s), static_cast<double>(trial.keys[s]));
    }
    expect_values<double>(in, "grid", grid_key, grid_shape, whole_box(grid_shape));
    EXPECT_EQ(commit::verify(transport, *trial.storage, trial.path).state, commit::State::ok);
  });
}

TEST(FullDisk, LosesNothingAndGoesOnWhenThereIsSpace) {
  const storage::Scratch scratch;
  const std::string disk = scratch / "disk";
  std::filesystem::create_directory(disk);
  if (const std::string reason = storage::mount_small_disk(disk, disk_bytes); !reason.empty()) {
    GTEST_SKIP() << "no small disk to fill: " << reason;
  }
  int refused = 0;
  int trials = 0;
  for (const Case& c : cases()) {
    for (const std::uint64_t free_bytes : places()) {
      for (const OnError on_error : {OnError::fail, OnError::skip_step}) {
        SCOPED_TRACE(std::string(c.name) + ", " + std::to_string(free_bytes) + " bytes free");
        Trial trial = make_trial(disk + "/out.h5", c, on_error);
        const auto filler = trial.storage->open(disk + "/filler", storage::Access::create);
        const auto fill = [&] {
          struct statvfs now {};
          ASSERT_EQ(::statvfs(disk.c_str(), &now), 0);
          filler->preallocate(0, now.f_bavail * now.f_bsize - free_bytes);
        };
        run(trial, fill, [&] { filler->resize(0); });
        expect_steps(trial);
        EXPECT_TRUE(trial.refused == 2 || free_bytes >= step_bytes);
        refused += trial.refused;
        ++trials;
        std::filesystem::remove_all(trial.path + ".parts");
        std::filesystem::remove(trial.path);
        std::filesystem::remove(disk + "/filler");
      }
    }
  }
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
  std::printf("T4 full disk: %d trials, %d steps refused, 0 lost\n", trials, refused);
}

TEST(FullDisk, OrALimitOfFileSizes) {
  rlimit old = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_action = ::signal(SIGXFSZ, SIG_IGN);
  int refused = 0;
  int trials = 0;
  for (const Case& c : cases()) {
    for (const std::uint64_t more_bytes : places()) {
      SCOPED_TRACE(std::string(c.name) + ", a limit " + std::to_string(more_bytes) + " bytes on");
      const storage::Scratch scratch;
      Trial trial = make_trial(scratch / "out.h5", c, OnError::skip_step);
      const auto fill = [&] {
        // Each rank's part has a quarter of a step.
        const bool has_parts = std::string(c.strategy) == "file-per-process";
        const std::string name = has_parts ? part_paths(*trial.storage, trial.path)[0] : trial.path;
        rlimit small = old;
        small.rlim_cur = std::filesystem::file_size(name) + more_bytes / (has_parts ? 4 : 1);
        ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
      };
      run(trial, fill, [&] { ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0); });
      expect_steps(trial);
      refused += trial.refused;
      ++trials;
    }
  }
  ::signal(SIGXFSZ, old_action);
  EXPECT_GT(refused, trials / 2);
  std::printf("T4 limit of file sizes: %d trials, %d steps refused, 0 lost\n", trials, refused);
}

}  // namespace
}  // namespace sluice::test
