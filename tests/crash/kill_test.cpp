// T2: mpirun -n 4 is killed with SIGKILL at random moments and at random storage calls, in every
// layout. Every step that rank 0 announced is in the file afterwards; recovery takes less than a
// second; the next run continues.
//
// SLUICE_CRASH_TRIALS: how many (60; 1,200 with SLUICE_LONG=1). SLUICE_CRASH_SEED: of what moments
// and calls (90210). SLUICE_CRASH_ROWS: only layouts whose title holds this word. SLUICE_MPIEXEC
// and SLUICE_VICTIM are set by CMake.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <poll.h>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "api/file/file_impl.hpp"
#include "commit/publish/parts_files.hpp"
#include "commit/publish/recovery.hpp"
#include "commit/read/input.hpp"
#include "commit/tools/verify.hpp"
#include "commit/write/commit_queue.hpp"
#include "crash/snapshot.hpp"
#include "crash/victim_values.hpp"
#include "exec/transport/solo_transport.hpp"
#include "storage/scratch.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

/// One mpirun and the process numbers of its ranks.
class Run {
 public:
  Run(const std::vector<std::string>& words, std::string pid_folder)
      : pid_folder_(std::move(pid_folder)) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    mpirun_ = ::fork();
    if (mpirun_ == 0) {
      std::vector<char*> arguments;
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      const int silence = ::open("/dev/null", O_RDWR);
      ::dup2(silence, 0);
      ::dup2(ends[1], 1);
      ::dup2(silence, 2);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    out_ = ends[0];
  }
  ~Run() {
    kill();
    ::close(out_);
  }

  /// Reads output until `seconds` have passed, `enough` returns true, or the run ended (false).
  template <class Enough>
  bool take(double seconds, Enough&& enough) {
    const auto began = Clock::now();
    while (!enough()) {
      const double left = seconds - seconds_since(began);
      if (left <= 0) return true;
      pollfd waiting{out_, POLLIN, 0};
      if (::poll(&waiting, 1, static_cast<int>(left * 1000) + 1) <= 0) continue;
      char bytes[4096];
      const ssize_t got = ::read(out_, bytes, sizeof bytes);
      if (got <= 0) return false;
      output_.append(bytes, static_cast<std::size_t>(got));
    }
    return true;
  }

  /// SIGKILL to all ranks, then the end of mpirun. Returns when no process of the run is left.
  void kill() {
    if (mpirun_ <= 0) return;
    kill_ranks();
    // mpirun notices by itself, but not while it still starts ranks.
    const auto began = Clock::now();
    bool is_told = false;
    while (::waitpid(mpirun_, nullptr, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (!is_told && seconds_since(began) > 1) {
        ::kill(mpirun_, SIGTERM);
        is_told = true;
      }
      if (seconds_since(began) > 20) ::kill(mpirun_, SIGKILL);
    }
    mpirun_ = -1;
    while (kill_ranks() && seconds_since(began) < 40) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    take(1, [] { return false; });  // what rank 0 said before it died; ends with the pipe
  }

  /// The steps that rank 0 announced.
  std::set<std::uint64_t> acknowledged() const { return steps_after("step "); }
  /// Steps whose end had returned, and that were not durable yet when the run was killed.
  std::size_t in_flight() const { return begun() - std::min(begun(), acknowledged().size()); }
  std::size_t begun() const { return steps_after("begun ").size(); }
  bool has_opened() const { return output_.find("opened ") != std::string::npos; }

 private:
  std::set<std::uint64_t> steps_after(const std::string& word) const {
    std::set<std::uint64_t> steps;
    std::istringstream lines(output_);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind(word, 0) == 0 && !lines.eof()) {
        steps.insert(std::strtoull(line.c_str() + word.size(), nullptr, 10));
      }
    }
    return steps;
  }

  /// Ended but not reaped: in a container without an init process.
  static bool is_zombie(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    return name_end != std::string::npos && text.compare(name_end, 3, ") Z") == 0;
  }

  /// Is any rank left?
  bool kill_ranks() const {
    bool is_left = false;
    for (int rank = 0; rank < 4; ++rank) {
      pid_t pid = 0;
      std::ifstream(pid_folder_ + "/" + std::to_string(rank)) >> pid;
      is_left = (pid > 0 && ::kill(pid, SIGKILL) == 0 && !is_zombie(pid)) || is_left;
    }
    return is_left;
  }

  std::string pid_folder_;
  pid_t mpirun_ = -1;
  int out_ = -1;
  std::string output_;
};

/// What the victim writes, and how.
struct Layout {
  std::string strategy;
  std::string format = "hdf5";
  std::uint64_t keep = 0;
  std::uint64_t split_steps = 0;
  int pause_ms = 0;  ///< so that nothing is on its way when a step is written

  std::string title() const {
    return format + " " + strategy +
           (keep != 0          ? "+keep"
            : split_steps != 0 ? "+split"
            : pause_ms != 0    ? "+pause"
                               : "");
  }
  bool has_steps_on_their_way() const { return strategy == "forward" && pause_ms == 0; }
  /// For the victims that are started from now on.
  void announce() const {
    ::setenv("SLUICE_VICTIM_FORMAT", format.c_str(), 1);
    ::setenv("SLUICE_VICTIM_KEEP", std::to_string(keep).c_str(), 1);
    ::setenv("SLUICE_VICTIM_SPLIT", std::to_string(split_steps).c_str(), 1);
    ::setenv("SLUICE_VICTIM_PAUSE_MS", std::to_string(pause_ms).c_str(), 1);
    ::setenv("SLUICE_VICTIM_SYNC_MS", has_steps_on_their_way() ? "30" : "0", 1);
  }
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all{{"serial"},
                                       {"shared"},
                                       {"collective"},
                                       {"forward"},
                                       {.strategy = "forward", .pause_ms = 6},
                                       {"file-per-process"},
                                       {"file-per-node"},
                                       {"shared", "netcdf4"},
                                       {"shared", "zarr"},
                                       {"shared", "icechunk"},
                                       {"shared", "records"},
                                       {"shared", "npy"},
                                       {.strategy = "shared", .keep = 3},
                                       {.strategy = "shared", .split_steps = 5}};
  return all;
}

struct Counts {
  int trials = 0;
  int before_opening = 0;
  int at_calls = 0;
  int replayed = 0;
  int in_flight = 0;  ///< with more than one step on its way
  std::uint64_t acknowledged = 0;
  std::uint64_t more = 0;  ///< steps in the file that were not announced
  double slowest_recovery_s = 0;
};

class Killing {
 public:
  Killing(Layout layout, std::uint64_t seed)
      : layout_(std::move(layout)), random_(seed), scratch_(folder()) {
    layout_.announce();
    std::filesystem::create_directory(scratch_ / "pids");
  }

  void trial() {
    for (int rank = 0; rank < 4; ++rank) {
      std::filesystem::remove(scratch_ / "pids/" + std::to_string(rank));
    }
    const bool at_call = random_() % 3 == 0;
    const auto kill_call = at_call ? 1 + random_() % 250 : 0;
    const auto victim_seed = random_() % 1000;
    Run run({std::getenv("SLUICE_MPIEXEC"), "--oversubscribe", "-n", "4",
             std::getenv("SLUICE_VICTIM"), path(), layout_.strategy, std::to_string(victim_seed),
             std::to_string(kill_call), scratch_ / "pids"},
            scratch_ / "pids");
    ++counts_.trials;
    counts_.at_calls += at_call ? 1 : 0;
    // Mostly during writes; now and then while MPI or the file is being opened.
    const bool waits = random_() % 16 != 0;
    if (waits) {
      run.take(30, [&] { return run.has_opened(); });
      if (layout_.has_steps_on_their_way()) {
        run.take(5, [&] { return run.begun() >= 4; });  // so that some are on their way
      }
    }
    const double moment_s = static_cast<double>(random_() % 1000) / 1000 * (waits ? 0.15 : 0.5);
    run.take(at_call ? 2 : moment_s, [] { return false; });
    run.kill();
    counts_.before_opening += run.has_opened() ? 0 : 1;
    counts_.in_flight += run.in_flight() > 1 ? 1 : 0;
    check(run.acknowledged());
  }

  const Counts& counts() const { return counts_; }

 private:
  static std::string folder() {
    const char* build = std::getenv("SLUICE_BUILD_DIR");
    return build != nullptr ? build : std::filesystem::temp_directory_path().string();
  }
  /// A numpy file is named for its variable.
  std::string path() const {
    const std::string ending =
        layout_.format == "hdf5" || layout_.format == "netcdf4" ? "h5" : layout_.format;
    return scratch_ / ("density." + ending);
  }

  void check(const std::set<std::uint64_t>& acknowledged) {
    const auto storage = storage::make_posix();
    if (!acknowledged.empty()) {
      next_ = std::max(next_, *acknowledged.rbegin() + 1);
    }
    counts_.acknowledged += acknowledged.size();
    if (!is_victim_there(*storage, path())) {
      EXPECT_EQ(next_, 0u) << "the file is gone";
      return;
    }
    const std::shared_ptr<storage::Storage> shared = storage;
    const Snapshot before = sluice_snapshot(shared, path());
    const auto began = Clock::now();
    const commit::Recovery recovery = commit::recover_unattended(*storage, path(), false);
    const double seconds = seconds_since(began);
    counts_.slowest_recovery_s = std::max(counts_.slowest_recovery_s, seconds);
    counts_.replayed += recovery.changed != 0 ? 1 : 0;
    EXPECT_EQ(difference(before, sluice_snapshot(shared, path())), "") << "recovery changed values";
    check_values(shared);
  }

  void check_values(const std::shared_ptr<storage::Storage>& storage) {
    const auto alone = exec::make_solo();
    File in(detail::open_on(*alone, storage, path(), Mode::read, {}));
    const bool has_times = layout_.format != "npy";
    const std::uint64_t there = in.steps();
    const std::uint64_t end =
        layout_.keep == 0 ? there : static_cast<std::uint64_t>(in.time(there - 1)) + 1;
    EXPECT_GE(end, next_) << "an acknowledged step is lost";
    EXPECT_LE(end, next_ + most_unannounced()) << "a step too many";
    EXPECT_EQ(there, layout_.keep == 0 ? end : std::min(end, layout_.keep));
    counts_.more += end > next_ ? 1 : 0;
    next_ = end;
    const Variable v = in.find("density");
    std::vector<double> got(victim_rows);
    // All steps were compared after earlier kills; the checksums of all are verified below.
    for (std::uint64_t step = there > 40 ? there - 40 : 0; step < there; ++step) {
      const std::uint64_t number = step + end - there;
      in.get<double>(v, got.data(), {}, step);
      for (std::uint64_t row = 0; row < victim_rows; ++row) {
        ASSERT_EQ(got[row], victim_value(number, row)) << "step " << number << " row " << row;
      }
      ASSERT_TRUE(!has_times || in.time(step) == static_cast<double>(number));
    }
    {
      const commit::Input set(*alone, *storage, path(), {.checksum = false});
      if (set.set() != nullptr) {  // the rest of what `sluice recover` does
        commit::check_parts(*alone, *storage, path(), *set.set(), true);
      }
    }
    const commit::Verdict verdict = commit::verify(*alone, *storage, path());
    // A numpy file has no checksums to verify.
    EXPECT_EQ(verdict.state, has_times ? commit::State::ok : commit::State::not_ours);
    EXPECT_FALSE(verdict.unfinished) << "recovery left a lease or a journal";
    EXPECT_FALSE(verdict.modified) << "recovery left another time of modification";
    if (next_ > 300) {
      std::filesystem::remove_all(path());  // a new file now and then
      std::filesystem::remove_all(path() + ".parts");
      next_ = 0;
    }
  }

  /// Steps that may be in the file without an announcement: those in flight.
  std::uint64_t most_unannounced() const {
    return layout_.strategy == "forward" ? commit::CommitQueue::commits_max : 1;
  }

  const Layout layout_;
  std::mt19937_64 random_;
  storage::Scratch scratch_;
  std::uint64_t next_ = 0;  ///< steps that must be in the file
  Counts counts_;
};

TEST(Kills, LoseNoAcknowledgedStep) {
  const char* wanted = std::getenv("SLUICE_CRASH_TRIALS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : is_long() ? 1200 : 60;
  const char* wanted_seed = std::getenv("SLUICE_CRASH_SEED");
  const std::uint64_t seed =
      wanted_seed != nullptr ? std::strtoull(wanted_seed, nullptr, 10) : 90210;
  ASSERT_NE(std::getenv("SLUICE_VICTIM"), nullptr);
  ASSERT_NE(std::getenv("SLUICE_MPIEXEC"), nullptr);
  const char* wanted_rows = std::getenv("SLUICE_CRASH_ROWS");
  const int count = static_cast<int>(layouts().size());
  const int kills_each = (kills + count - 1) / count;
  for (const Layout& layout : layouts()) {
    if (wanted_rows != nullptr && layout.title().find(wanted_rows) == std::string::npos) {
      continue;
    }
    const auto began = Clock::now();
    Killing killing(layout, seed);
    for (int i = 0; i < kills_each && !HasFailure(); ++i) {
      killing.trial();
    }
    const Counts& c = killing.counts();
    EXPECT_GT(c.acknowledged, 0u) << layout.title()
                                  << ": no step was ever acknowledged: nothing was tested";
    EXPECT_LE(c.slowest_recovery_s, 1.0);
    EXPECT_TRUE(!layout.has_steps_on_their_way() || c.in_flight > 0)
        << "no kill met steps on their way";
    std::printf(
        "T2 %s seed %llu: %d kills (%d at a storage call, %d before the file was open), "
        "%llu steps acknowledged, 0 lost, %llu there unannounced, %d with several steps on their "
        "way, %d replayed, slowest recovery %.3f s; took %.0f s\n",
        layout.title().c_str(), static_cast<unsigned long long>(seed), c.trials, c.at_calls,
        c.before_opening, static_cast<unsigned long long>(c.acknowledged),
        static_cast<unsigned long long>(c.more), c.in_flight, c.replayed, c.slowest_recovery_s,
        seconds_since(began));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace sluice::test
