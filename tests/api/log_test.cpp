// The option `log`: messages and their receivers, the line at the close, the log beside the file.
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "exec/transport/solo_transport.hpp"
#include "layout/local_files.hpp"
#include "storage/scratch.hpp"
#include "support/observing_storage.hpp"

namespace sluice::test {
namespace {

class Messages : public testing::Test {
 protected:
  Messages() {
    set_message_handler([this](const std::string& text) { heard_.push_back(text); });
  }
  ~Messages() override { set_message_handler({}); }

  /// Three ranks write `steps` steps of 600 doubles.
  void write(const std::string& path, const Options& options, std::uint64_t steps,
             Mode mode = Mode::write) {
    files_.run(3, [&](exec::Transport& transport) {
      File out = files_.open(transport, path, mode, options);
      const auto v = out.define<double>("v", {600}, {.steps = true});
      for (std::uint64_t s = 0; s < steps; ++s) {
        Giver<double> giver;
        Step step = out.begin_step({.time = 0.5 * static_cast<double>(s)});
        giver.put(step, v, s, {600}, slab({600}, transport.rank(), transport.size()));
        step.end();
      }
      out.close();
    });
  }
  std::vector<nlohmann::json> logged(const std::string& path) {
    std::istringstream text(files_.text_of(path + ".log.jsonl"));
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(text, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }

  LocalFiles files_;
  std::vector<std::string> heard_;
};

TEST_F(Messages, ForwardTellsItsCostsAtTheClose) {
  Options options;
  options.strategy = "forward";
  write("out.h5", options, 4);
  ASSERT_EQ(heard_.size(), 1u) << "of all ranks together";
  EXPECT_EQ(heard_[0].rfind("sluice: out.h5: 4 steps, 18.8 KiB: visible ", 0), 0u) << heard_[0];
  EXPECT_NE(heard_[0].find("MB/s durable"), std::string::npos) << heard_[0];
  EXPECT_FALSE(files_.storage()->exists("out.h5.log.jsonl"));
}

TEST_F(Messages, OthersAreSilentUnlessAsked) {
  Options options;
  options.strategy = "shared";
  write("out.h5", options, 2);
  EXPECT_TRUE(heard_.empty()) << heard_[0];
  options.log = Log::line;
  for (const char* strategy : {"serial", "collective", "file-per-process"}) {
    heard_.clear();
    options.strategy = strategy;
    write("out.h5", options, 2);
    ASSERT_EQ(heard_.size(), 1u) << strategy;
    EXPECT_NE(heard_[0].find(": 2 steps, 9.4 KiB: "), std::string::npos) << heard_[0];
    EXPECT_NE(heard_[0].find("hidden 0.000 s, overlap 0 %"), std::string::npos) << heard_[0];
  }
}

TEST_F(Messages, OffIsSilent) {
  Options options;
  options.strategy = "forward";
  options.log = Log::off;
  write("out.h5", options, 2);
  EXPECT_TRUE(heard_.empty()) << heard_[0];
}

TEST_F(Messages, StepsAreLoggedBesideTheFile) {
  Options options;
  options.log = Log::steps;
  for (const char* strategy : {"forward", "shared", "file-per-node"}) {
    options.strategy = strategy;
    const std::string path = std::string(strategy) + ".h5";
    write(path, options, 3);
    write(path, options, 1, Mode::append);
    const auto lines = logged(path);
    ASSERT_EQ(lines.size(), 4u) << strategy;
    for (std::uint64_t s = 0; s < 4; ++s) {
      EXPECT_EQ(lines[s]["step"], s) << strategy;
      EXPECT_EQ(lines[s]["time"], s < 3 ? 0.5 * static_cast<double>(s) : 0.0);
      EXPECT_EQ(lines[s]["bytes"], 600 * sizeof(double));
      EXPECT_GT(lines[s]["visible_s"], 0.0);
      EXPECT_EQ(lines[s]["durable"], true);
      EXPECT_EQ(lines[s]["failed"], false);
    }
    write(path, options, 1);
    EXPECT_EQ(logged(path).size(), 1u) << "begun anew with the file";
  }
}

/// A disk without space for logs.
class NoLogs final : public storage::ObservingStorage {
 public:
  using ObservingStorage::ObservingStorage;
  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    if (path.ends_with(".jsonl")) {
      throw Error(Code::permission, path + ": Permission denied");
    }
    return inner().open(path, access);
  }
};

TEST_F(Messages, ALogThatCannotBeWrittenIsNoReasonToFail) {
  const auto disk = std::make_shared<NoLogs>(files_.storage());
  Options options;
  options.log = Log::steps;
  options.strategy = "serial";
  files_.run(2, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, disk, "out.h5", Mode::write, options));
    const auto v = out.define<double>("v", {10}, {.steps = true});
    for (int s = 0; s < 3; ++s) {
      const std::vector<double> data(10, s);
      Step step = out.begin_step();
      step.put(v, data.data(), {.start = {0}, .count = {transport.rank() == 0 ? 10u : 0u}});
      step.end();
    }
    out.close();
  });
  ASSERT_EQ(heard_.size(), 2u);
  EXPECT_NE(heard_[0].find("its log ends: out.h5.log.jsonl: Permission denied"), std::string::npos)
      << heard_[0];
  EXPECT_NE(heard_[1].find("3 steps"), std::string::npos) << heard_[1];
}

TEST_F(Messages, WhatIsWrittenBesideTheCallerIsHidden) {
  const storage::Scratch folder;
  const auto alone = exec::make_solo();
  Options options;
  options.strategy = "forward";
  options.log = Log::steps;
  const std::string path = folder / "out.h5";
  {
    const std::vector<double> data(1 << 20, 1.5);
    File out(detail::open_on(*alone, storage::make_posix(), path, Mode::write, options));
    const auto v = out.define<double>("v", {data.size()}, {.steps = true});
    for (int s = 0; s < 2; ++s) {
      Step step = out.begin_step();
      step.put(v, data.data());
      const Ticket ticket = step.end();
      while (!ticket.durable()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    out.close();
  }
  std::ifstream text(path + ".log.jsonl");
  int lines = 0;
  for (std::string line; std::getline(text, line); ++lines) {
    EXPECT_GT(nlohmann::json::parse(line)["hidden_s"], 0.0) << line;
  }
  EXPECT_EQ(lines, 2);
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].find("overlap 0 %"), std::string::npos) << heard_[0];
}

TEST_F(Messages, AHandlerThatThrowsStopsNothing) {
  set_message_handler([](const std::string&) { throw std::runtime_error("no"); });
  Options options;
  options.log = Log::line;
  options.strategy = "serial";
  testing::internal::CaptureStderr();
  write("out.h5", options, 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("sluice: out.h5: 1 step, "),
            std::string::npos);
}

}  // namespace
}  // namespace sluice::test
