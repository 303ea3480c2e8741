// Placement of writers by the cost of reaching them, and of reaching storage from them.
#include <algorithm>
#include <string>

#include "plan/plan.hpp"

namespace sluice::plan {

namespace {

double checked_cost(double cost, int writer) {
  if (!(cost >= 0)) {
    throw Error(Code::invalid_argument, "writer_map: rank " + std::to_string(writer) +
                                            " has the distance " + std::to_string(cost) +
                                            ": it must be a number, and not negative");
  }
  return cost;
}

/// The bytes of ranks [first, last), the same number from each, by way of `writer`.
double cost_of(int first, int last, int writer, const Distances& distances) {
  double cost = distances.to_storage
                    ? (last - first) * checked_cost(distances.to_storage(writer), writer)
                    : 0;
  for (int from = first; from < last && distances.between; ++from) {
    cost += from != writer ? checked_cost(distances.between(from, writer), writer) : 0;
  }
  return cost;
}

}  // namespace

std::vector<int> nearest_writers(int ranks, int writers, const Distances& distances) {
  if (writers < 1 || writers > ranks) {
    throw Error(Code::invalid_argument, "writers: " + std::to_string(writers) + ": there are " +
                                            std::to_string(ranks) + " ranks");
  }
  const auto first_of = [&](int group) {
    return static_cast<int>(static_cast<std::int64_t>(ranks) * group / writers);
  };
  std::vector<int> chosen;
  for (int group = 0; group < writers; ++group) {
    const int first = first_of(group);
    const int last = first_of(group + 1);
    int best = first;
    double least = cost_of(first, last, first, distances);
    for (int writer = first + 1; writer < last; ++writer) {
      const double cost = cost_of(first, last, writer, distances);
      best = cost < least ? writer : best;
      least = std::min(cost, least);
    }
    chosen.push_back(best);
  }
  return chosen;
}

}  // namespace sluice::plan
