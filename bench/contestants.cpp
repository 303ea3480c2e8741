#include "contestants.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::bench {

std::vector<double> StepTimes::seconds() const {
  const auto skipped = std::min<std::size_t>(warm_up_, seconds_.size());
  std::vector<double> steps(seconds_.begin() + static_cast<std::ptrdiff_t>(skipped),
                            seconds_.end());
  MPI_Allreduce(MPI_IN_PLACE, steps.data(), static_cast<int>(steps.size()), MPI_DOUBLE, MPI_MAX,
                comm_);
  return steps;
}

Values StepTimes::finish() {
  std::vector<double> steps = seconds();
  std::sort(steps.begin(), steps.end());
  const auto quantile = [&](double q) {
    if (steps.empty()) return 0.0;
    return steps[static_cast<std::size_t>(std::lround(q * static_cast<double>(steps.size() - 1)))];
  };
  return {{"median_s", quantile(0.5)},
          {"p10_s", quantile(0.1)},
          {"p90_s", quantile(0.9)},
          {"max_s", quantile(1)}};
}

}  // namespace sluice::bench
