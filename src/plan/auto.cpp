#include "plan/auto.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "plan/groups.hpp"
#include "plan/totals.hpp"

namespace sluice::plan {

namespace {

/// Shorter runs are written by the rank itself, one after the other (exec/write/file_sink).
constexpr std::uint64_t short_run_bytes = 256ULL << 10;
/// Bytes that are sent must save this part of the time.
constexpr double worth_sending = 0.05;
/// So must several files, which are more trouble.
constexpr double worth_more_files = 0.1;
/// Of rounds with their checksums: who sends how much, and that everything came.
constexpr double meetings_of_round = 2;

struct Load {
  double bytes = 0;  ///< of all ranks
  double run_bytes = 1;
  double ranks = 1;
  double nodes = 1;
};

Load load_of(const Input& input) {
  Load load;
  load.bytes = static_cast<double>(input.bytes != 0 ? input.bytes : input.space.length);
  load.run_bytes = static_cast<double>(std::max<std::uint64_t>(1, input.mean_run_bytes));
  load.ranks = input.topology.ranks;
  load.nodes = input.topology.nodes;
  return load;
}

/// Do all stripes of a server have one writer, so that no two meet there?
bool has_own_servers(const Ground& ground, const Way& way) {
  const auto stripes = static_cast<int>(ground.stripes);
  const int writers = way.choice.writers;
  return way.choice.cyclic && way.choice.tile_bytes == ground.stripe_bytes &&
         (writers % stripes == 0 || stripes % writers == 0);
}

/// What `writers` get from the servers of one file. Where several come to one server they queue
/// there, and others stand idle meanwhile: a closed network of equal servers.
double rate_of_servers(const Ground& ground, double writers, bool is_apart) {
  const double stripes = ground.stripes;
  const double service_s =
      static_cast<double>(ground.stripe_bytes) / (ground.file_bytes_per_s / stripes);
  const double on_way = writers * ground.in_flight;
  const double queue = is_apart ? std::max(0.0, on_way / stripes - 1) : (on_way - 1) / stripes;
  const double turn_s = static_cast<double>(ground.stripe_bytes) / ground.stream_bytes_per_s +
                        ground.rpc_s + service_s * (1 + queue);
  const double rate = on_way * static_cast<double>(ground.stripe_bytes) / turn_s;
  return std::min({rate, ground.file_bytes_per_s, on_way * ground.file_bytes_per_s / stripes});
}

double write_s(const Ground& ground, const Load& load, double writers, bool is_apart) {
  double rate =
      std::min({writers * ground.stream_bytes_per_s,
                std::min(writers, load.nodes) * ground.drain_bytes_per_s, ground.file_bytes_per_s});
  if (ground.stripes != 0) {
    rate = std::min(rate, rate_of_servers(ground, writers, is_apart));
  }
  const double writing_nodes = std::min(writers, load.nodes);
  const double at_a_server =
      is_apart ? std::min(writing_nodes, std::max(1.0, writers / ground.stripes)) : writing_nodes;
  return load.bytes / rate + ground.sync_s + at_a_server * ground.touch_s;
}

/// A run that ends inside a stripe hands it to its neighbour, and of `clients` that write one file
/// each comes to the stripe of its checksums.
double locks_s(const Ground& ground, const Load& load, double clients) {
  return load.bytes / load.run_bytes * ground.lock_s /
             std::min<double>(load.ranks, ground.stripes) +
         (clients - 1) * (ground.lock_s + ground.rpc_s);
}

/// Every rank its own runs: short ones wait for the disk one by one, and where one ends inside a
/// stripe its neighbour takes the stripe over, which a server does for one after the other. At the
/// end all put their checksums into one stripe.
double shared_s(const Ground& ground, const Load& load) {
  double seconds = write_s(ground, load, load.ranks, false);
  const double clients = ground.locks_processes ? load.ranks : load.nodes;
  if (ground.stripes != 0) {
    // The stripe of the checksums, which ranks of all clients come to in any order.
    seconds =
        std::max(seconds, (load.ranks - 1) * (1 - 1 / clients) * (ground.lock_s + ground.rpc_s));
  }
  const double own_bytes = load.bytes / load.ranks;
  if (load.run_bytes < static_cast<double>(short_run_bytes) && load.run_bytes < own_bytes) {
    const double calls_s =
        own_bytes / load.run_bytes * ground.call_s + own_bytes / ground.short_bytes_per_s;
    // In memory a rank packs and calls while others have the file to themselves.
    seconds = ground.reach == model::Reach::memory
                  ? std::max(seconds, own_bytes / ground.stream_bytes_per_s + calls_s)
                  : seconds + calls_s;
  }
  if (ground.stripes != 0 && load.ranks > 1) {
    seconds += locks_s(ground, load, clients);
  }
  return seconds;
}

/// A file of its own for each of so many groups of ranks, which write it as `shared` does. Files
/// lie on servers by chance unless each lies on all, so the busiest server has more than its part.
double set_s(const Ground& ground, const Load& load, double files) {
  Ground all = ground;
  double most = ground.files_bytes_per_s;
  if (ground.stripes != 0) {
    const double of_server = files * ground.stripes / ground.servers;
    const double nodes_of_file = std::max(1.0, load.nodes / files);
    if (ground.servers > ground.stripes) {
      most /= 1 + std::sqrt(2 * std::log(ground.servers) / of_server);
    }
    all.stripes = std::min(static_cast<std::uint32_t>(files) * ground.stripes, ground.servers);
    all.touch_s *= std::min(1.0, of_server * nodes_of_file / load.nodes);
  }
  all.file_bytes_per_s = std::min(files * ground.file_bytes_per_s, most);
  double seconds = write_s(all, load, load.ranks, false) + files * ground.file_s;
  const double clients = (ground.locks_processes ? load.ranks : load.nodes) / files;
  if (ground.stripes != 0 && clients > 1) {
    seconds += locks_s(all, load, clients);
  }
  return seconds;
}

/// How many nodes have bytes in a round's windows and in those that are written meanwhile. Long
/// runs lie one rank's after the other's, so these are few where a node has more than the windows
/// take.
double sending_nodes(const Load& load, double windows_bytes) {
  const double longest =
      std::min(load.bytes / load.ranks, static_cast<double>(layout::portion_bytes));
  if (load.run_bytes < longest) {
    return load.nodes;
  }
  const double node_bytes = load.bytes / load.nodes;
  return std::clamp(0.5 + 2 * windows_bytes / node_bytes, 1.0, load.nodes);
}

double collective_s(const Ground& ground, const Load& load, const Way& way) {
  const double writers = way.choice.writers;
  const double written_s =
      write_s(ground, load, writers, ground.stripes != 0 && has_own_servers(ground, way));
  const double cores = std::min<double>(ground.cores, load.ranks / load.nodes);
  const double node_rate =
      std::min(cores * ground.exchange_bytes_per_s, ground.exchange_most_bytes_per_s);
  const double windows = static_cast<double>(window_bytes(way.choice)) * writers;
  double sent_s = load.bytes / load.nodes / node_rate;
  if (load.nodes > 1) {
    const double links = std::min({writers, load.nodes, sending_nodes(load, windows)});
    sent_s += load.bytes * (1 - 1 / load.nodes) / links / ground.link_bytes_per_s;
  }
  // While a window is written the next one is brought.
  const double rounds = std::max(1.0, load.bytes / windows);
  const auto steps = static_cast<double>(std::bit_width(static_cast<unsigned>(load.ranks)));
  return std::max(written_s, sent_s) + std::min(written_s, sent_s) / rounds +
         (rounds + 1) * meetings_of_round * ground.meeting_s * steps;
}

/// Numbers of writers worth a look, ascending.
std::vector<int> writer_counts(const Input& input) {
  const Topology& topology = input.topology;
  const WriterChoice& asked = input.choice;
  if (asked.writers != 0 || asked.first_writer != 0 || asked.writer_spacing != 0 ||
      asked.writer_map != "spaced") {
    return {static_cast<int>(writer_list(topology, asked).size())};
  }
  std::vector<int> counts;
  const auto stripes = static_cast<int>(input.ground.stripes);
  for (const int count : {1, topology.nodes, default_writers_per_node * topology.nodes, stripes,
                          2 * stripes, 4 * stripes}) {
    if (count > 0) {
      counts.push_back(std::min(count, topology.ranks));
    }
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// The load is not known before something is put.
Input of_assumed_load(Input input) {
  input.bytes = assumed_rank_bytes * static_cast<std::uint64_t>(input.topology.ranks);
  input.mean_run_bytes = assumed_run_bytes;
  input.space = {0, input.bytes};
  return input;
}

/// The sets of several files that `input.choice` leaves open, with their seconds.
std::vector<Way> sets_of(const Input& input) {
  const bool is_asked = input.choice.writers != 0;
  const int ranks = is_asked ? 1 : input.topology.ranks;
  const int groups = is_asked ? input.choice.writers : input.topology.nodes;
  std::vector<Way> ways;
  for (const auto& [strategy, files] : {std::pair{std::string_view(per_process), ranks},
                                        std::pair{std::string_view(per_node), groups}}) {
    if (files > 1) {
      ways.push_back({strategy, input.choice, 0});
      ways.back().choice.writers = files;
      ways.back().seconds = seconds_of(input, ways.back());
    }
  }
  return ways;
}

std::string place_text(const Ground& ground) {
  std::string text = ground.kind.empty() ? "a file system of unknown kind" : ground.kind;
  if (ground.stripes > 1) {
    text +=
        " of " + std::to_string(ground.stripes) + " stripes of " + size_text(ground.stripe_bytes);
  }
  return text;
}

std::string reason_of(const Input& input, const Way& best, const Way* next) {
  const bool is_dealt = best.strategy != "shared" && best.choice.cyclic && input.ground.stripes > 1;
  std::string text = name_of(best) + (is_dealt ? ", each with its own stripes" : "") +
                     ": runs of " + size_text(input.mean_run_bytes) + " of " +
                     std::to_string(input.topology.ranks) + " ranks on " +
                     place_text(input.ground) + " take about " + seconds_text(best.seconds);
  if (next != nullptr) {
    text += ", by " + name_of(*next) + " " + seconds_text(next->seconds);
  }
  return text;
}

}  // namespace

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2g s", seconds);
  return text.data();
}

std::string name_of(const Way& way) {
  if (way.strategy == "shared" || way.strategy == per_process) {
    return std::string(way.strategy);
  }
  if (way.strategy == per_node) {
    return std::string(way.strategy) + ", " + std::to_string(way.choice.writers) + " of them";
  }
  return std::string(way.strategy) + " with " + std::to_string(way.choice.writers) +
         (way.choice.writers == 1 ? " writer" : " writers") +
         (way.choice.cyclic && way.choice.writers != 1 ? " (cyclic)" : "");
}

double seconds_of(const Input& input, const Way& way) {
  const Load load = load_of(input);
  return writes_parts(way.strategy) ? set_s(input.ground, load, way.choice.writers)
         : way.strategy == "shared" ? shared_s(input.ground, load)
                                    : collective_s(input.ground, load, way);
}

std::vector<Way> ways_of(const Input& input) {
  std::vector<Way> ways{{"shared", input.choice, 0}};
  if (input.topology.ranks > 1) {
    for (const int writers : writer_counts(input)) {
      Way way{"collective", input.choice, 0};
      way.choice.writers = writers;
      // Where a file has stripes, the writer of a stripe should always be the same.
      way.choice.cyclic = input.choice.cyclic || (input.ground.stripes > 1 && writers > 1);
      ways.push_back(way);
      if (input.ground.reach == model::Reach::unknown && writers > 1 && !way.choice.cyclic) {
        // By the formulas the same; but nobody knows that there are no stripes.
        way.choice.cyclic = true;
        ways.push_back(way);
      }
    }
  }
  for (Way& way : ways) {
    way.seconds = seconds_of(input, way);
  }
  return ways;
}

Decision decide(const Input& input) {
  const std::vector<Way> ways = ways_of(input);
  const auto least = std::min_element(
      ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.seconds < b.seconds; });
  const bool sends = least->seconds < (1 - worth_sending) * ways.front().seconds;
  const Way& best = sends ? *least : ways.front();
  const Way* next = nullptr;
  for (const Way& way : ways) {
    const bool is_other = way.strategy != best.strategy;
    next = is_other && (next == nullptr || way.seconds < next->seconds) ? &way : next;
  }
  return {best, reason_of(input, best, next)};
}

Decision decide_files(const Input& input) {
  const Input assumed = of_assumed_load(input);
  const Way one = decide(assumed).way;
  std::optional<Way> set;
  for (const Way& way : sets_of(assumed)) {
    set = !set || way.seconds < set->seconds ? way : set;
  }
  const bool is_set = set && set->seconds < (1 - worth_more_files) * one.seconds;
  std::string reason = (is_set ? name_of(*set) : "one file") + ": on " + place_text(input.ground) +
                       " a commit, taken to be " + size_text(assumed_rank_bytes) + " of each of " +
                       std::to_string(input.topology.ranks) + " ranks, takes about " +
                       seconds_text(is_set ? set->seconds : one.seconds);
  if (set) {
    reason += is_set ? ", in one file " + seconds_text(one.seconds)
                     : ", by " + name_of(*set) + " " + seconds_text(set->seconds);
  }
  return {is_set ? *set : one, std::move(reason)};
}

Plan plan_auto(const Input& input) { return plan_of(input, decide(input)); }

Plan plan_of(const Input& input, const Decision& decision) {
  Input chosen = input;
  chosen.choice = decision.way.choice;
  Plan plan = strategy(decision.way.strategy).plan(chosen);
  plan.reason = decision.reason;
  plan.predicted_s = decision.way.seconds;
  return plan;
}

}  // namespace sluice::plan
