// bench: the speed of a file system for the ranks of this run, by strategy and writers. On all
// ranks.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "commit/output/output.hpp"
#include "commit/read/input.hpp"
#include "exec/transport/agree.hpp"
#include "help.hpp"
#include "model/bytes.hpp"
#include "model/clock.hpp"
#include "plan/plan.hpp"
#include "scratch_folder.hpp"
#include "sluice/error.hpp"
#include "text/progress.hpp"
#include "text/table.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t mib_bytes = 1 << 20;
constexpr std::uint64_t probe_mib = 4;
constexpr std::uint64_t most_mib = 256;
constexpr int rounds = 3;
/// One round shows no spread.
constexpr int fewest_rounds = 2;
/// The strategies differ in speed, and the probe may be faster than the rounds that follow.
constexpr double caution = 2;
/// A smaller gain than this is not worth setting an option.
constexpr double least_gain = 0.1;
constexpr double mega = 1e6;

struct BenchVerb {
  std::string folder = ".";
  std::uint64_t mib = 0;
  double seconds = 60;
  bool json = false;
};

/// The times of one strategy and number of writers, in seconds, one a round.
struct Candidate {
  std::string strategy;
  int writers = 0;  ///< 0: the strategy leaves no choice
  std::vector<double> returned_s = {};
  std::vector<double> durable_s = {};
  std::vector<double> read_s = {};

  std::string name() const {
    return writers == 0 ? strategy : fmt::format("{} x {}", strategy, writers);
  }
};

double median(std::vector<double> seconds) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

/// Were the rounds of `a` faster than those of `b`? Not if any of them overlap: a difference within
/// the spread says nothing.
bool is_faster(const std::vector<double>& a, const std::vector<double>& b) {
  return median(a) < (1 - least_gain) * median(b) &&
         *std::max_element(a.begin(), a.end()) < *std::min_element(b.begin(), b.end());
}

/// The candidate to use, and those from which no difference was seen, in the order of the list.
struct Recommendation {
  const Candidate* chosen;
  std::vector<const Candidate*> no_difference = {};
};

/// Of the candidates that none makes durable faster: the default (the first) if it is one of them,
/// unless another returns to the program faster.
Recommendation recommend(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> fast;
  for (const Candidate& one : candidates) {
    if (std::none_of(candidates.begin(), candidates.end(), [&](const Candidate& other) {
          return is_faster(other.durable_s, one.durable_s);
        })) {
      fast.push_back(&one);
    }
  }
  Recommendation found{fast.front()};
  for (const Candidate* one : fast) {
    if (is_faster(one->returned_s, found.chosen->returned_s)) {
      found.chosen = one;
    }
  }
  for (const Candidate* one : fast) {
    if (one != found.chosen && !is_faster(found.chosen->returned_s, one->returned_s)) {
      found.no_difference.push_back(one);
    }
  }
  return found;
}

std::vector<Candidate> candidates_of(exec::Transport& transport) {
  std::vector<Candidate> found{{Options{}.strategy}};
  for (const plan::Strategy* row : plan::strategies()) {
    // For one rank all of them write in the same way.
    const bool is_plain = row->candidates != nullptr && !row->in_windows && row->group == nullptr;
    if (row->chooses || (transport.size() == 1 && !is_plain)) {
      continue;
    }
    if (!row->in_windows) {
      found.push_back({row->name});
    }
    for (int writers = 1; row->in_windows && writers < 2 * transport.size(); writers *= 2) {
      found.push_back({row->name, std::min(writers, transport.size())});
    }
  }
  return found;
}

/// One rank of each node. Collective.
bool is_first_of_node(exec::Transport& transport) {
  std::vector<std::int64_t> first(static_cast<std::size_t>(transport.nodes()), transport.size());
  first[static_cast<std::size_t>(transport.node())] = transport.rank();
  transport.allreduce(first, exec::Op::min);
  return first[static_cast<std::size_t>(transport.node())] == transport.rank();
}

/// A folder of its own on the file system under test, removed at the end.
class Workplace {
 public:
  Workplace(exec::Transport& transport, const std::string& folder) {
    auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
      owned_.emplace(folder, "sluice-bench");
      std::error_code error;
      const std::filesystem::space_info space = std::filesystem::space(folder, error);
      out.put(owned_->path());
      out.put<std::uint64_t>(error ? 0 : space.available);
    });
    path_ = in.get_string();
    free_bytes_ = in.get<std::uint64_t>();
  }

  std::string file() const { return path_ + "/field.h5"; }
  std::uint64_t free_bytes() const { return free_bytes_; }
  /// Local, on rank 0: removes what the last candidate wrote.
  void empty() const {
    std::error_code error;
    for (const auto& entry : entries(owned_ ? owned_->path() : "")) {
      std::filesystem::remove_all(entry, error);
    }
  }
  /// Local: drops what was written from the page cache of this node.
  void make_cold(storage::Storage& storage) const {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_, error)) {
      if (entry.is_regular_file(error)) {
        storage.open(entry.path(), storage::Access::read)->drop_cache();
      }
    }
  }

 private:
  static std::vector<std::string> entries(const std::string& folder) {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      found.push_back(entry.path());
    }
    return found;
  }

  std::string path_;
  std::optional<ScratchFolder> owned_;  ///< on rank 0 only
  std::uint64_t free_bytes_ = 0;
};

class Bench {
 public:
  Bench(const Context& context, const BenchVerb& verb)
      : transport_(context.transport),
        verb_(verb),
        storage_(storage::make("auto")),
        place_(context.transport, verb.folder),
        candidates_(candidates_of(context.transport)),
        is_first_of_node_(is_first_of_node(context.transport)) {}

  void run() {
    const std::uint64_t mib = choose_size();
    resize(mib);
    Candidate warm_up = candidates_.front();
    measure(warm_up);  // the first touch of memory
    Progress progress("bench " + verb_.folder, transport_.rank() == 0);
    const std::uint64_t job_bytes = 2 * total_bytes();
    const std::uint64_t jobs = candidates_.size() * rounds;
    std::uint64_t done = 0;
    for (rounds_done_ = 0; rounds_done_ < rounds && !is_over(); ++rounds_done_) {
      // Every other round in reverse order, so that none always follows the same other.
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        const std::size_t last = candidates_.size() - 1;
        measure(candidates_[rounds_done_ % 2 == 0 ? i : last - i]);
        progress.update(++done * job_bytes, jobs * job_bytes);
      }
    }
  }

  const std::vector<Candidate>& candidates() const { return candidates_; }
  std::uint64_t total_bytes() const {
    return data_.size() * sizeof(double) * static_cast<std::uint64_t>(transport_.size());
  }
  int rounds_done() const { return rounds_done_; }

  double rate(const std::vector<double>& seconds) const {
    return static_cast<double>(total_bytes()) / mega / median(seconds);
  }

 private:
  /// As much as fits the requested time, the free space and the memory. The same on every rank.
  std::uint64_t choose_size() {
    if (verb_.mib != 0) {
      return verb_.mib;
    }
    resize(probe_mib);
    Candidate probe = candidates_.front();
    measure(probe);  // the first touch of everything
    measure(probe);
    const double job_s = probe.durable_s[1] + probe.read_s[1];
    const double jobs = static_cast<double>(candidates_.size()) * rounds;
    const double wanted = probe_mib * verb_.seconds / (caution * jobs * job_s);
    const double ranks = transport_.size();
    const double room = static_cast<double>(place_.free_bytes()) / mib_bytes / 4 / ranks;
    const double most = std::min<double>(most_mib, std::max(1.0, room));
    const auto mib = static_cast<std::uint64_t>(std::clamp(wanted, 1.0, most));
    begin_s_ = model::now_s();
    return on_all(mib);
  }

  /// By the clock of rank 0. Two rounds are always made.
  bool is_over() {
    const double seconds = model::now_s() - begin_s_;
    return on_all(rounds_done_ >= fewest_rounds && seconds > verb_.seconds ? 1 : 0) != 0;
  }

  std::uint64_t on_all(std::uint64_t of_root) {
    std::int64_t value = transport_.rank() == 0 ? static_cast<std::int64_t>(of_root) : 0;
    transport_.allreduce({&value, 1}, exec::Op::max);
    return static_cast<std::uint64_t>(value);
  }

  void resize(std::uint64_t mib) {
    data_.resize(mib * mib_bytes / sizeof(double));
    found_.resize(data_.size());
    for (std::size_t i = 0; i < data_.size(); ++i) {
      data_[i] = transport_.rank() + 1e-9 * static_cast<double>(i);
    }
  }

  model::Box own_box() const {
    const std::uint64_t count = data_.size();
    return {{count * static_cast<std::uint64_t>(transport_.rank())}, {count}};
  }

  void measure(Candidate& candidate) {
    exec::together(transport_, [&] { place_.empty(); });
    write(candidate);
    exec::together(transport_, [&] {
      if (is_first_of_node_) {
        place_.make_cold(*storage_);
      }
    });
    read(candidate);
  }

  /// Seconds since `begin_s` when the last rank has arrived.
  double until_all(double begin_s) {
    transport_.barrier();
    return model::now_s() - begin_s;
  }

  void write(Candidate& candidate) {
    Options options;
    options.strategy = candidate.strategy;
    options.writers = candidate.writers;
    options.durability = Durability::step;
    transport_.barrier();
    const double begin_s = model::now_s();
    const auto output =
        commit::open_output(transport_, *storage_, place_.file(), commit::Opening::create, options);
    model::Definition field;
    field.name = "field";
    field.type = type_of<double>();
    field.shape = {data_.size() * static_cast<std::uint64_t>(transport_.size())};
    field.stepped = true;
    const std::uint32_t variable = output->define(field);
    output->begin_step(0);
    const model::Dims count{data_.size()};
    output->put({variable,
                 own_box(),
                 {reinterpret_cast<const std::byte*>(data_.data()), field.type, count, {0}}});
    output->end_step();
    candidate.returned_s.push_back(until_all(begin_s));
    output->close();
    candidate.durable_s.push_back(until_all(begin_s));
  }

  void read(Candidate& candidate) {
    transport_.barrier();
    const double begin_s = model::now_s();
    commit::Input input(transport_, *storage_, place_.file(), {});
    input.get(commit::dense_request(input.find("field"), 0, own_box(),
                                    reinterpret_cast<std::byte*>(found_.data()),
                                    type_of<double>()));
    candidate.read_s.push_back(until_all(begin_s));
    exec::together(transport_, [&] {
      if (found_ != data_) {
        throw Error(Code::damaged, place_.file() + ": what was read differs from what was written");
      }
    });
    std::fill(found_.begin(), found_.end(), 0.0);
  }

  exec::Transport& transport_;
  const BenchVerb& verb_;
  std::shared_ptr<storage::Storage> storage_;
  Workplace place_;
  std::vector<Candidate> candidates_;
  bool is_first_of_node_;
  std::vector<double> data_;
  std::vector<double> found_;
  double begin_s_ = model::now_s();
  int rounds_done_ = 0;
};

std::string settings_text(const Candidate& chosen) {
  std::string text = fmt::format("strategy = \"{}\"\n", chosen.strategy);
  if (chosen.writers != 0) {
    text += fmt::format("writers = {}\n", chosen.writers);
  }
  return text;
}

void print_json(const Context& context, const BenchVerb& verb, const Bench& bench) {
  Json json{{"folder", verb.folder},
            {"ranks", context.transport.size()},
            {"bytes", bench.total_bytes()},
            {"rounds", bench.rounds_done()},
            {"results", Json::array()}};
  for (const Candidate& one : bench.candidates()) {
    json["results"].push_back({{"strategy", one.strategy},
                               {"writers", one.writers},
                               {"returned_s", one.returned_s},
                               {"durable_s", one.durable_s},
                               {"read_s", one.read_s},
                               {"durable_mb_per_s", bench.rate(one.durable_s)},
                               {"read_mb_per_s", bench.rate(one.read_s)}});
  }
  const auto settings = [](const Candidate& one) {
    return Json{{"strategy", one.strategy}, {"writers", one.writers}};
  };
  const Recommendation recommended = recommend(bench.candidates());
  json["recommended"] = settings(*recommended.chosen);
  json["no_difference"] = Json::array();
  for (const Candidate* one : recommended.no_difference) {
    json["no_difference"].push_back(settings(*one));
  }
  show_json(json);
}

void print_table(const Context& context, const BenchVerb& verb, const Bench& bench) {
  tell("{}: {}, {} together, {}; medians\n\n", printable(verb.folder),
       count_text(static_cast<std::uint64_t>(context.transport.size()), "rank"),
       bytes_text(bench.total_bytes()),
       count_text(static_cast<std::uint64_t>(bench.rounds_done()), "round"));
  Table table({"STRATEGY", ">RETURNS", ">DURABLE", ">MB/S", ">SPREAD", ">READ MB/S"});
  for (const Candidate& one : bench.candidates()) {
    const auto [least, most] = std::minmax_element(one.durable_s.begin(), one.durable_s.end());
    table.add({one.name(), seconds_text(median(one.returned_s)),
               seconds_text(median(one.durable_s)),
               fmt::format("{:.0f}", bench.rate(one.durable_s)),
               fmt::format("{:.0f} %", 100 * (*most - *least) / median(one.durable_s)),
               fmt::format("{:.0f}", bench.rate(one.read_s))});
  }
  const Recommendation recommended = recommend(bench.candidates());
  const Candidate& chosen = *recommended.chosen;
  tell("{}\nRecommended: {}.\n", table.text(), chosen.name());
  if (!recommended.no_difference.empty()) {
    tell("No difference seen (the times overlap, or differ by less than {:.0f} %):\n",
         100 * least_gain);
    for (const Candidate* one : recommended.no_difference) {
      tell("  {}\n", one->name());
    }
  }
  if (chosen.strategy == Options{}.strategy) {
    tell("It is the default: there is nothing to set.\n");
  } else {
    tell("In sluice.toml:\n\n{}", settings_text(chosen));
  }
}

int bench(const Context& context, const BenchVerb& verb) {
  Bench measured(context, verb);
  measured.run();
  if (context.is_root()) {
    (verb.json ? print_json : print_table)(context, verb, measured);
  }
  return fine;
}

}  // namespace

void add_bench(CLI::App& app, Run& run) {
  const auto verb = std::make_shared<BenchVerb>();
  CLI::App* command =
      add_verb(app, "bench", "measure a file system and recommend options",
               "Writes and reads one array by every strategy and several numbers of writers,\n"
               "with all ranks of the command. RETURNS is the time that a program waits,\n"
               "DURABLE the time until all bytes are on disk and the file is closed, READ the\n"
               "time of reading with an emptied page cache. Each rank writes a contiguous part\n"
               "of one variable; other options have their defaults. The files are removed.\n"
               "Two strategies differ only if their rounds do not overlap (SPREAD: slowest\n"
               "less fastest round, of the median) and the medians differ by 10 %. If no\n"
               "difference is seen from the default, the default is recommended.\n"
               "Takes about a minute.\n"
               "Exit code: 0 done, 1 data came back damaged, 2 bad input.\n",
               R"help(
Examples:
  sluice bench --on /scratch/me
  mpirun -n 8 sluice bench --on /scratch/me
  mpirun -n 8 sluice bench --on /scratch/me --mib 256 --json)help");
  command->add_option("--on", verb->folder, "folder on the file system to measure (here)")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  command->add_option("--mib", verb->mib, "MiB a rank (as many as the time allows)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20));
  command->add_option("--seconds", verb->seconds, "about how long it may take (60)")
      ->type_name("S")
      ->check(number_between(1, 86400));
  command->add_flag("--json", verb->json, "print JSON");
  command->callback(
      [&run, verb] { run = [verb](const Context& context) { return bench(context, *verb); }; });
}

}  // namespace sluice::cli
