// The choice for those who leave it: by how the bytes of all ranks lie in the file.
#include "plan/plan.hpp"

namespace sluice::plan {

namespace {

/// From here on every rank writes its own runs as fast as whole tiles are written, and nothing is
/// sent: measured, docs/collective.md.
constexpr std::uint64_t long_run_bytes = 256ULL << 10;

}  // namespace

Plan plan_auto(const Input& input) {
  const bool is_long = input.topology.ranks == 1 || input.mean_run_bytes >= long_run_bytes;
  return is_long ? plan_shared(input) : plan_collective(input);
}

}  // namespace sluice::plan
