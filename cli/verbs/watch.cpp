// watch: shows the steps of a file that is being written, as they arrive. On rank 0.
//
// Invariants: only committed steps are shown, each once; the file is only read. A read during a
// commit is repeated (commit::open_committed); a file that does not exist yet, or cannot be read
// yet, is waited for. Reading takes at most a tenth of the time.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <thread>
#include <unistd.h>

#include "commit/publish/recovery.hpp"
#include "commit/read/rows_by_step.hpp"
#include "compare/stored.hpp"
#include "help.hpp"
#include "layout/formats/formats.hpp"
#include "model/clock.hpp"
#include "sluice/error.hpp"
#include "text/text.hpp"
#include "text/values.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

struct WatchOptions {
  std::string file;
  std::optional<std::uint64_t> until;
  double timeout_s = 0;  ///< without a new step; 0: no limit
  double every_s = 0.5;
  bool all = false;
  bool json = false;
};

/// One committed step.
struct SeenStep {
  double time = std::nan("");
  std::uint64_t bytes = 0;
  std::int64_t committed_ns = 0;  ///< since 1970, by the writer's clock; 0: the file does not tell
};

/// Bytes of one step in all variables that have steps.
void add_bytes(const Catalog& catalog, std::span<const std::vector<std::uint64_t>> rows_by_step,
               std::vector<SeenStep>& steps) {
  for (std::uint32_t v = 0; v < catalog.variables().size(); ++v) {
    const model::Definition& d = catalog.variables()[v].definition;
    if (!d.stepped) {
      continue;
    }
    const auto& rows = rows_by_step[v];  // empty unless it varies
    for (std::uint64_t step = 0; step < steps.size(); ++step) {
      const bool varies = step < rows.size() && d.shape.rank() != 0 && d.shape[0] != 0;
      const std::uint64_t whole = d.bytes_per_step();
      steps[step].bytes += varies ? whole / d.shape[0] * rows[step] : whole;
    }
  }
}

/// All steps that are committed at this moment.
std::vector<SeenStep> look(storage::Storage& storage, const std::string& path) {
  std::vector<SeenStep> steps;
  std::unique_ptr<Catalog> catalog;
  const auto committed = commit::open_committed(storage, path, [&](storage::File& file) {
    catalog.reset();
    catalog = layout::open_catalog(layout::format_in(file, "auto"), file);
    steps.clear();
    for (const CommitRow& row : catalog->commits()) {
      if (row.step != CommitRow::no_step) {
        steps.push_back({row.time, 0, row.modified_ns});
      }
    }
    steps.resize(catalog->steps());  // some formats have no log, and other programs write none
    add_bytes(*catalog, commit::rows_by_step(storage, path, *catalog), steps);
  });
  catalog.reset();  // before the file that it reads from
  return steps;
}

/// Seconds between the previous step and this one; empty for the first one, if clocks disagree, or
/// without a log of commits.
std::optional<double> seconds_before(const std::vector<SeenStep>& steps, std::uint64_t step) {
  const std::int64_t before_ns = step == 0 ? 0 : steps[step - 1].committed_ns;
  if (before_ns == 0 || steps[step].committed_ns <= before_ns) {
    return std::nullopt;
  }
  return static_cast<double>(steps[step].committed_ns - before_ns) * 1e-9;
}

std::string step_text(const std::vector<SeenStep>& steps, std::uint64_t step) {
  const SeenStep& seen = steps[step];
  std::string text = fmt::format("step {}", step);
  if (!std::isnan(seen.time)) {
    text += fmt::format("  time {}", time_text(seen.time));
  }
  text += "  " + bytes_text(seen.bytes);
  if (const auto seconds = seconds_before(steps, step)) {
    const std::string rate = rate_text(seen.bytes, *seconds);
    text += fmt::format("  after {}{}", seconds_text(*seconds), rate.empty() ? "" : "  " + rate);
  }
  return text;
}

std::string step_json(const std::vector<SeenStep>& steps, std::uint64_t step) {
  const SeenStep& seen = steps[step];
  const auto seconds = seconds_before(steps, step);
  const Json json{
      {"step", step},
      {"time", time_json(seen.time)},
      {"bytes", seen.bytes},
      {"committed_ns", seen.committed_ns != 0 ? Json(seen.committed_ns) : Json()},
      {"seconds", seconds ? Json(*seconds) : Json()},
      {"bytes_per_second", seconds ? Json(static_cast<double>(seen.bytes) / *seconds) : Json()}};
  return json.dump();
}

/// The line on a terminal that shows that the command is alive while nothing happens.
class Pulse {
 public:
  explicit Pulse(std::string name) : name_(std::move(name)) {}
  ~Pulse() { clear(); }
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  void clear() {
    if (is_drawn_) {
      std::fputs("\r\033[K", stderr);
      is_drawn_ = false;
    }
  }
  void draw(const std::optional<std::uint64_t>& steps, double quiet_s) {
    if (!is_terminal_) {
      return;
    }
    fmt::print(stderr, "\r{}: {}, nothing new for {}\033[K", shortened(name_, 32),
               steps ? count_text(*steps, "step") : "not there yet",
               seconds_text(std::floor(quiet_s)));
    std::fflush(stderr);
    is_drawn_ = true;
  }

 private:
  std::string name_;
  bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  bool is_drawn_ = false;
};

class Watch {
 public:
  Watch(storage::Storage& storage, const WatchOptions& options)
      : storage_(storage), options_(options), pulse_(printable(options.file)) {}

  int run() {
    for (;;) {
      const double began_s = model::now_s();
      look_again();
      if (std::ferror(stdout) != 0) {
        return fine;  // check_output() says so: nobody sees what comes
      }
      const double took_s = model::now_s() - began_s;
      if (options_.until && shown_ && *shown_ >= *options_.until) {
        return fine;
      }
      const double quiet_s = model::now_s() - last_news_s_;
      if (options_.timeout_s > 0 && quiet_s >= options_.timeout_s) {
        return give_up();
      }
      pulse_.draw(shown_, quiet_s);
      double pause_s = std::max(options_.every_s, 9 * took_s);
      if (options_.timeout_s > 0) {
        pause_s = std::min(pause_s, options_.timeout_s - quiet_s);
      }
      std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
    }
  }

 private:
  void look_again() {
    try {
      show(look(storage_, options_.file));
      waits_for_.clear();
    } catch (const Error& error) {
      // Not created yet, or just being created, replaced, or put in place after a crash.
      const Code code = error.code();
      if (code == Code::permission || code == Code::unsupported || code == Code::version) {
        throw;
      }
      waits_for_ = error.what();
    }
  }

  void show(const std::vector<SeenStep>& steps) {
    pulse_.clear();
    if (shown_ && steps.size() < *shown_) {
      say(fmt::format("{}: started anew", printable(options_.file)));
      shown_ = 0;
    }
    if (!shown_) {
      last_news_s_ = model::now_s();
      shown_ = options_.all ? 0 : steps.size();
      say(fmt::format("{}: {} so far", printable(options_.file), count_text(steps.size(), "step")));
    }
    for (; *shown_ < steps.size(); ++*shown_) {
      last_news_s_ = model::now_s();
      options_.json ? show_json_text(step_json(steps, *shown_) + "\n")
                    : tell("{}\n", step_text(steps, *shown_));
    }
    std::fflush(stdout);  // the reader of a pipe needs each line at once
  }

  void say(const std::string& line) const {
    if (!options_.json) {
      tell("{}\n", line);
    }
  }

  int give_up() {
    pulse_.clear();
    if (!shown_) {
      throw Error(Code::timeout, waits_for_);
    }
    if (!options_.until) {
      return fine;
    }
    show_error(fmt::format("{}: {} of {} after {} without a new one", options_.file, *shown_,
                           count_text(*options_.until, "step"), seconds_text(options_.timeout_s)));
    return differs;
  }

  storage::Storage& storage_;
  const WatchOptions& options_;
  Pulse pulse_;
  std::optional<std::uint64_t> shown_;  ///< steps that were shown; empty: no read has succeeded yet
  std::string waits_for_;               ///< why the last read failed
  double last_news_s_ = model::now_s();
};

}  // namespace

void add_watch(CLI::App& app, Run& run) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* verb =
      add_verb(app, "watch", "show the steps of a file as they arrive",
               "Prints one line for each step that is committed from now on: its time, its\n"
               "size, the time since the step before, and the rate. The file need not exist\n"
               "yet. Ends at --until, at --timeout, or by Ctrl-C.\n"
               "Exit code: 0 done, 1 fewer steps than --until came, 2 bad input, or the file\n"
               "never appeared.\n",
               R"help(
Examples:
  sluice watch spins.h5
  sluice watch spins.h5 --until 100 --timeout 600 && ./analyse spins.h5
  sluice watch spins.h5 --all --json | jq .bytes_per_second)help");
  verb->add_option("FILE", options->file, "the file that a run writes")->required();
  verb->add_option("--until", options->until, "end when the file has N steps")->type_name("N");
  verb->add_option("--timeout", options->timeout_s, "end after S seconds without a new step")
      ->type_name("S")
      ->check(number_between(0, 1e9));
  verb->add_option("--every", options->every_s, "seconds from look to look (default: 0.5)")
      ->type_name("S")
      ->check(number_between(0.01, 3600));
  verb->add_flag("--all", options->all, "the steps that are there already, too");
  verb->add_flag("--json", options->json, "print one JSON object for each step");
  verb->callback([&run, options] {
    run = [options](const Context& context) {
      return context.is_root() ? Watch(context.storage, *options).run() : fine;
    };
  });
}

}  // namespace sluice::cli
