// Strategy `auto` from detection to the file: chosen alike on all ranks, reported with its reason,
// compared with the measured time.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

#include "layout/local_files.hpp"
#include "plan/tuner.hpp"
#include "storage/forwarding.hpp"
#include "storage/scratch.hpp"
#include "support/observing_storage.hpp"

namespace sluice::test {
namespace {

class AutoOutput : public testing::Test {
 protected:
  AutoOutput() {
    set_message_handler([this](const std::string& text) { heard_.push_back(text); });
  }
  ~AutoOutput() override { set_message_handler({}); }

  /// Eight ranks put runs of `run` doubles, interleaved, into a fixed variable of 64 of them,
  /// twice, and read the whole back.
  void write_and_read(const std::shared_ptr<storage::Storage>& disk, const std::string& path,
                      std::uint64_t run, Log log) {
    constexpr std::uint64_t ranks = 8;
    constexpr std::uint64_t runs = 64 / ranks;
    exec::run_local(ranks, 1, [&](exec::Transport& transport) {
      Options options;
      options.log = log;
      options.strategy = "auto";
      File out(detail::open_on(transport, disk, path, Mode::write, options));
      const auto rank = static_cast<std::uint64_t>(transport.rank());
      for (const char* name : {"first", "second"}) {
        const auto v = out.define<double>(name, {runs, ranks, run});
        std::vector<double> mine(runs * run);
        for (std::uint64_t i = 0; i < mine.size(); ++i) {
          mine[i] = static_cast<double>((i / run * ranks + rank) * run + i % run);
        }
        out.put(v, mine.data(), {.start = {0, rank, 0}, .count = {runs, 1, run}});
        out.flush();
      }
      out.close();
      File in(detail::open_on(transport, disk, path, Mode::read, {}));
      std::vector<double> all(runs * ranks * run);
      in.get(in.find("second"), all.data());
      for (std::uint64_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i], static_cast<double>(i));
      }
    });
  }
  /// The only message that begins with `text` after the file's name.
  std::string only(const std::string& path, const std::string& text) {
    std::string found;
    int count = 0;
    for (const std::string& heard : heard_) {
      if (heard.rfind("sluice: " + path + ": " + text, 0) == 0) {
        found = heard;
        ++count;
      }
    }
    EXPECT_EQ(count, 1) << text << ", of " << heard_.size() << " messages";
    return found;
  }
  std::vector<std::string> heard_;
};

TEST_F(AutoOutput, OnStripesTakesAWriterAServerAndSaysWhy) {
  write_and_read(storage::make_memory({1, 65536, 4}), "out.h5", 8192, Log::line);
  const std::string why = only("out.h5", "auto takes ");
  EXPECT_NE(why.find("collective with "), std::string::npos) << why;
  EXPECT_NE(why.find(" (cyclic), each with its own stripes: runs of 64.0 KiB of 8 ranks"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("of 4 stripes of 64.0 KiB"), std::string::npos) << why;
  const std::string compared = only("out.h5", "auto: ");
  EXPECT_NE(compared.find("2 commits predicted to take "), std::string::npos) << compared;
  EXPECT_NE(compared.find(", took "), std::string::npos) << compared;
}

TEST_F(AutoOutput, IsQuietUnlessAsked) {
  write_and_read(storage::make_memory({1, 65536, 4}), "out.h5", 100, Log::automatic);
  EXPECT_TRUE(heard_.empty()) << heard_[0];
}

TEST_F(AutoOutput, KnowsTheFileSystemOfThisFolder) {
  const storage::Scratch folder;
  const std::string path = folder / "out.h5";
  const std::string kind = storage::make_posix()->file_system(path).kind;
  write_and_read(storage::make_posix(), path, 512, Log::line);
  const std::string why = only(path, "auto takes ");
  EXPECT_NE(why.find(kind.empty() ? "a file system of unknown kind" : " on " + kind),
            std::string::npos)
      << why;
}

/// Three ranks write a step into `path` with files = allow_multiple, append another, and read both
/// back.
void write_append_and_read(const std::shared_ptr<storage::Storage>& disk, const std::string& path) {
  constexpr std::uint64_t ranks = 3;
  exec::run_local(ranks, 1, [&](exec::Transport& transport) {
    Options options;
    options.files = Files::allow_multiple;
    options.log = Log::line;
    const auto rank = static_cast<std::uint64_t>(transport.rank());
    for (const Mode mode : {Mode::write, Mode::append}) {
      File out(detail::open_on(transport, disk, path, mode, options));
      const auto v = mode == Mode::write ? out.define<double>("v", {ranks, 100}, {.steps = true})
                                         : out.find("v");
      const std::vector<double> mine(100, static_cast<double>(10 * out.steps() + rank));
      auto step = out.begin_step();
      step.put(v, mine.data(), {.start = {rank, 0}, .count = {1, 100}});
      step.end();
      out.close();
    }
    File in(detail::open_on(transport, disk, path, Mode::read, {}));
    ASSERT_EQ(in.steps(), 2u);
    for (std::uint64_t s = 0; s < 2; ++s) {
      std::vector<double> all(ranks * 100);
      in.get(in.find("v"), all.data(), {}, s);
      for (std::uint64_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i], static_cast<double>(10 * s + i / 100)) << s << ", " << i;
      }
    }
  });
}

TEST_F(AutoOutput, InMemoryMakesSeveralFilesWhereItMay) {
  const storage::Scratch folder("/dev/shm");
  const std::string path = folder / "out.h5";
  if (storage::make_posix()->file_system(path).reach != storage::Reach::memory) {
    GTEST_SKIP() << "/dev/shm is no tmpfs here";
  }
  write_append_and_read(storage::make_posix(), path);
  EXPECT_TRUE(std::filesystem::exists(path + ".parts"));
  EXPECT_NE(only(path, "auto takes ").find("file-per-process: on tmpfs"), std::string::npos);
}

TEST_F(AutoOutput, WhereItIsNoFasterMakesOneFileThoughItMayMakeMore) {
  const auto disk = storage::make_memory();
  write_append_and_read(disk, "out.h5");
  EXPECT_EQ(disk->paths(), std::vector<std::string>{"out.h5"});
  EXPECT_EQ(std::count_if(heard_.begin(), heard_.end(),
                          [](const std::string& text) {
                            return text.find("auto takes one file: ") != std::string::npos &&
                                   text.find("by file-per-process") != std::string::npos;
                          }),
            1);
}

TEST_F(AutoOutput, OneRankHasNobodyToSendTo) {
  exec::run_local(1, 1, [&](exec::Transport& transport) {
    Options options;
    options.log = Log::line;
    File out(detail::open_on(transport, storage::make_memory(), "out.h5", Mode::write, options));
    const std::vector<double> data(1000, 1.5);
    out.put(out.define<double>("v", {1000}), data.data());
    out.close();
  });
  EXPECT_NE(only("out.h5", "auto takes ").find("auto takes shared: "), std::string::npos);
}

/// A disk of unknown kind to which only rank 0 has fast access.
class NearToRankZero final : public storage::ObservingStorage {
 public:
  explicit NearToRankZero(std::shared_ptr<storage::Storage> disk)
      : ObservingStorage(std::move(disk)) {}

  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    return std::make_unique<SlowFile>(ObservingStorage::open(path, access));
  }
  bool in_background() const override { return false; }

 private:
  class SlowFile final : public storage::ForwardingFile {
   public:
    using ForwardingFile::ForwardingFile;
    void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
      if (exec::LocalTransport::running_rank() > 0) {
        // Long compared with the noise of a loaded machine.
        std::this_thread::sleep_for(std::chrono::milliseconds(8));
      }
      ForwardingFile::write(offset, bytes);
    }
  };
};

constexpr std::uint64_t probing_ranks = 4;
constexpr int probing_steps = 50;

/// Until `enough`, at most that many; returns the number.
int write_steps(
    const std::shared_ptr<storage::Storage>& disk, const std::string& path, const Options& options,
    int most, const std::function<bool()>& is_enough = [] { return false; }) {
  constexpr std::uint64_t elements = 512;
  int written = 0;
  exec::run_local(probing_ranks, 1, [&](exec::Transport& transport) {
    const auto rank = static_cast<std::uint64_t>(transport.rank());
    File out(detail::open_on(transport, disk, path, Mode::write, options));
    const auto v = out.define<double>("v", {probing_ranks * elements}, {.steps = true});
    std::vector<double> mine(elements);
    int s = 0;
    for (std::int64_t ends = 0; ends == 0; ++s) {
      Step step = out.begin_step({.time = s * 1.0});
      std::iota(mine.begin(), mine.end(), s * 1e6 + static_cast<double>(rank * elements));
      step.put(v, mine.data(), {.start = {rank * elements}, .count = {elements}});
      step.end();
      ends = s + 1 == most || (rank == 0 && is_enough()) ? 1 : 0;
      transport.allreduce({&ends, 1}, exec::Op::max);
    }
    out.close();
    written = rank == 0 ? s : written;
  });
  return written;
}

/// Number of bytes in which two files differ.
std::size_t differing(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  EXPECT_EQ(a.size(), b.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    count += a[i] != b[i] ? 1 : 0;
  }
  return count;
}

TEST_F(AutoOutput, ComesToTheFasterWayByItsOwnStepsAndTheBytesAreThoseOfSerial) {
  const auto memory = storage::make_memory();
  Options options;
  options.log = Log::line;
  // On a busy machine the first trial may take long by chance: then the next trial must be paid for
  // by more steps.
  constexpr int most = 20 * probing_steps;
  const int steps =
      write_steps(std::make_shared<NearToRankZero>(memory), "auto.h5", options, most, [this] {
        return heard_.back().find("takes collective with") != std::string::npos &&
               heard_.back().find(": measured time of a commit: ") != std::string::npos;
      });
  EXPECT_LT(steps, most);
  EXPECT_NE(heard_.front().find("auto takes shared: "), std::string::npos) << heard_.front();
  EXPECT_NE(heard_[1].find(" as a trial: time of a commit: shared "), std::string::npos)
      << heard_[1];
  EXPECT_LE(heard_.size(), 2U + 2 * plan::Tuner::most_trials) << "not a line a commit";
  const std::string end = only("auto.h5", "auto: ");
  EXPECT_NE(end.find("; trials, time of a commit: collective with "), std::string::npos) << end;
  EXPECT_NE(end.find(", shared "), std::string::npos) << end;

  options.strategy = "serial";
  write_steps(memory, "serial.h5", options, steps);
  write_steps(memory, "again.h5", options, steps);
  const std::size_t stamps = differing(memory->contents("serial.h5"), memory->contents("again.h5"));
  EXPECT_LE(differing(memory->contents("auto.h5"), memory->contents("serial.h5")),
            stamps + 16 * static_cast<std::size_t>(steps));
}

TEST_F(AutoOutput, TriesNothingWhereItMayNot) {
  Options options;
  options.log = Log::line;
  options.autotune = false;
  write_steps(std::make_shared<NearToRankZero>(storage::make_memory()), "out.h5", options,
              probing_steps);
  for (const std::string& heard : heard_) {
    EXPECT_EQ(heard.find("as a trial"), std::string::npos) << heard;
    EXPECT_EQ(heard.find("trials"), std::string::npos) << heard;
  }
}

}  // namespace
}  // namespace sluice::test
