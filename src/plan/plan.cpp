#include "plan/plan.hpp"

#include <array>
#include <numeric>

namespace sluice::plan {

namespace {

constexpr std::array<Strategy, 2> strategies{{
    {"serial", [](const Topology& t) { return t.rank == 0; }, plan_serial},
    {"shared", [](const Topology&) { return true; }, plan_shared},
}};

/// What "auto" stands for: every rank its own extents is the fastest on every file system that
/// takes direct writes into preallocated space.
constexpr const char* automatic = "shared";

}  // namespace

const Strategy& strategy(const std::string& name) {
  const std::string wanted = name == "auto" ? automatic : name;
  std::string known = "auto";
  for (const Strategy& candidate : strategies) {
    if (wanted == candidate.name) {
      return candidate;
    }
    known += std::string(", ") + candidate.name;
  }
  throw Error(Code::invalid_argument,
              "strategy \"" + name + "\" is not known: use one of " + known);
}

Transfer everything_to(int writer, const Input& input) {
  Transfer transfer;
  transfer.writer = writer;
  transfer.portions.resize(input.portions.size());
  std::iota(transfer.portions.begin(), transfer.portions.end(), 0U);
  transfer.bytes =
      std::accumulate(input.portion_sizes.begin(), input.portion_sizes.end(), std::uint64_t{0});
  return transfer;
}

std::string Plan::text() const {
  std::string text = strategy + ": buffer " + std::to_string(buffer_bytes) + " bytes, " +
                     std::to_string(feeders.size()) + " feeders\n";
  for (const Transfer& transfer : transfers) {
    text += "  to rank " + std::to_string(transfer.writer) + ": " +
            std::to_string(transfer.portions.size()) + " portions, " +
            std::to_string(transfer.bytes) + " bytes\n";
  }
  return text;
}

}  // namespace sluice::plan
