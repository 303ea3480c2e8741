// Which ranks write: the options writers, first_writer, writer_spacing and writer_map.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "plan/plan.hpp"

namespace sluice::plan {

namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& why) {
  throw Error(Code::invalid_argument, option + ": " + why);
}

std::string of_ranks(const Topology& topology) {
  return " of " + std::to_string(topology.ranks) + " ranks";
}

RankList spaced(const Topology& topology, const WriterChoice& choice, int writers) {
  const int room = topology.ranks - choice.first_writer;
  if (writers > room) {
    refuse("writers", std::to_string(writers) + " from rank " +
                          std::to_string(choice.first_writer) + " on exceed the number" +
                          of_ranks(topology));
  }
  const int spacing = choice.writer_spacing != 0 ? choice.writer_spacing : room / writers;
  if (static_cast<std::int64_t>(writers - 1) * spacing >= room) {
    refuse("writer_spacing", std::to_string(spacing) + " puts the last of " +
                                 std::to_string(writers) + " writers beyond the last" +
                                 of_ranks(topology));
  }
  return RankList::spaced(choice.first_writer, spacing, writers);
}

int node_of(const Topology& topology, int rank) {
  return topology.node_of.empty()
             ? static_cast<int>(static_cast<std::int64_t>(rank) * topology.nodes / topology.ranks)
             : topology.node_of[static_cast<std::size_t>(rank)];
}

/// Writer i is on node i mod nodes; the writers of a node are spread evenly over its ranks.
/// `is_default`: nobody asked for this many, and a node with fewer ranks has as many.
std::vector<int> one_a_node(const Topology& topology, int writers, bool is_default) {
  std::vector<std::vector<int>> members(static_cast<std::size_t>(topology.nodes));
  for (int rank = 0; rank < topology.ranks; ++rank) {
    members[static_cast<std::size_t>(node_of(topology, rank))].push_back(rank);
  }
  std::vector<int> ranks;
  for (int node = 0; node < topology.nodes; ++node) {
    const std::vector<int>& here = members[static_cast<std::size_t>(node)];
    int wanted = writers / topology.nodes + (node < writers % topology.nodes ? 1 : 0);
    if (is_default) {  // the last node may have fewer ranks than the others
      wanted = std::min(wanted, static_cast<int>(here.size()));
    }
    if (wanted > static_cast<int>(here.size())) {
      refuse("writers",
             std::to_string(writers) + " exceed the ranks of node " + std::to_string(node));
    }
    for (int i = 0; i < wanted; ++i) {
      ranks.push_back(
          here[static_cast<std::size_t>(i) * here.size() / static_cast<std::size_t>(wanted)]);
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// Passes the numbers of "3, 1,2" to `take`, one after the other; `refuse_text` throws if one is
/// malformed.
template <class Number, class Take, class RefuseText>
void for_each_number(std::string_view text, Take&& take, RefuseText&& refuse_text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    while (at != end && *at == ' ') {
      ++at;
    }
    Number number = 0;
    const auto [next, problem] = std::from_chars(at, end, number);
    if (problem != std::errc() || (next != end && *next != ',')) {
      refuse_text();
    }
    take(number);
    if (next == end) {
      return;
    }
    at = next + 1;
  }
}

constexpr std::string_view costs_prefix = "costs ";

bool lists_costs(const WriterChoice& choice) { return choice.writer_map.starts_with(costs_prefix); }

/// "costs 3,1,1,2": the cost of moving a byte from each rank to storage.
std::vector<double> listed_costs(const Topology& topology, const WriterChoice& choice) {
  std::vector<double> costs;
  for_each_number<double>(
      std::string_view(choice.writer_map).substr(costs_prefix.size()),
      [&](double cost) { costs.push_back(cost); },
      [&] {
        refuse("writer_map",
               "\"" + choice.writer_map + "\" is not a list of costs such as \"costs 3,1,1,2\"");
      });
  if (costs.size() != static_cast<std::size_t>(topology.ranks)) {
    refuse("writer_map", std::to_string(costs.size()) + " costs are listed" + of_ranks(topology));
  }
  return costs;
}

std::vector<int> by_costs(const Topology& topology, const WriterChoice& choice, int writers) {
  const std::vector<double> costs = listed_costs(topology, choice);
  Distances distances;
  distances.to_storage = [&](int rank) { return costs[static_cast<std::size_t>(rank)]; };
  return nearest_writers(topology.ranks, writers, distances);
}

std::vector<int> listed(const Topology& topology, const WriterChoice& choice) {
  std::vector<int> ranks;
  for_each_number<int>(
      choice.writer_map,
      [&](int rank) {
        if (rank < 0 || rank >= topology.ranks) {
          refuse("writer_map", "rank " + std::to_string(rank) + " is not one" + of_ranks(topology));
        }
        ranks.push_back(rank);
      },
      [&] {
        refuse("writer_map",
               "\"" + choice.writer_map +
                   "\" is neither spaced nor node nor a list of ranks such as \"0,4\", nor one of "
                   "costs such as \"costs 3,1,1,2\"");
      });
  std::sort(ranks.begin(), ranks.end());
  const auto twice = std::adjacent_find(ranks.begin(), ranks.end());
  if (twice != ranks.end()) {
    refuse("writer_map",
           "rank " + std::to_string(*twice) + " is listed twice in \"" + choice.writer_map + "\"");
  }
  if (choice.writers != 0 && choice.writers != static_cast<int>(ranks.size())) {
    refuse("writers", std::to_string(choice.writers) + ", but writer_map lists " +
                          std::to_string(ranks.size()));
  }
  return ranks;
}

}  // namespace

std::vector<int> writer_ranks(const Topology& topology, const WriterChoice& choice) {
  return writer_list(topology, choice).all();
}

RankList writer_list(const Topology& topology, const WriterChoice& choice) {
  if (choice.writers < 0 || choice.writers > topology.ranks) {
    refuse("writers",
           std::to_string(choice.writers) +
               (choice.writers < 0 ? " is negative: 0 leaves the number to Sluice"
                                   : " exceed the " + std::to_string(topology.ranks) + " ranks"));
  }
  if (choice.first_writer < 0 || choice.first_writer >= topology.ranks) {
    refuse("first_writer",
           std::to_string(choice.first_writer) + " is not one" + of_ranks(topology));
  }
  if (choice.writer_spacing < 0) {
    refuse("writer_spacing", std::to_string(choice.writer_spacing) + " is negative");
  }
  const bool is_spaced = choice.writer_map == "spaced";
  if (!is_spaced && (choice.first_writer != 0 || choice.writer_spacing != 0)) {
    refuse(choice.first_writer != 0 ? "first_writer" : "writer_spacing",
           "has no meaning with writer_map = \"" + choice.writer_map + "\"");
  }
  const bool is_list = !is_spaced && choice.writer_map != "node" && !lists_costs(choice);
  if (is_list) {
    return listed(topology, choice);
  }
  int writers = choice.writers;
  if (writers == 0) {
    writers =
        std::min(topology.ranks - choice.first_writer, topology.nodes * default_writers_per_node);
    if (choice.writer_spacing != 0) {
      const int fitting = (topology.ranks - choice.first_writer - 1) / choice.writer_spacing + 1;
      writers = std::min(writers, fitting);
    }
  }
  if (lists_costs(choice)) {
    return by_costs(topology, choice, writers);
  }
  return is_spaced ? spaced(topology, choice, writers)
                   : one_a_node(topology, writers, choice.writers == 0);
}

}  // namespace sluice::plan
