#include "overlap.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

#include "timing.hpp"

namespace sluice::bench {
namespace {

constexpr int alone_steps = 3;

double clock_s(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Processor time of all threads but this one.
double other_threads_s() {
  return clock_s(CLOCK_PROCESS_CPUTIME_ID) - clock_s(CLOCK_THREAD_CPUTIME_ID);
}

/// Work that stays in the cache of a core, in units of well below a millisecond.
class Computing {
 public:
  void unit() {
    for (int sweep = 0; sweep < 8; ++sweep) {
      for (double& value : values_) value = value * 0.999 + 0.5 / (1 + value);
    }
  }
  /// Consumed, so that the compiler computes it.
  double sum() const { return std::accumulate(values_.begin(), values_.end(), 0.0); }

 private:
  std::vector<double> values_ = std::vector<double>(8192, 1.5);
};

/// Units that take about `seconds` on all ranks at the same time.
std::uint64_t units_of(const Timing& timed, Computing& computing, double seconds) {
  std::uint64_t units = 16;
  while (true) {
    const double took_s = timed([&] {
      for (std::uint64_t i = 0; i < units; ++i) computing.unit();
    });
    if (took_s > seconds / 2) {
      return std::max<std::uint64_t>(
          1, static_cast<std::uint64_t>(static_cast<double>(units) * seconds / took_s));
    }
    units *= 2;
  }
}

/// A step without concurrent computation.
double step_alone_s(const Timing& timed, Background& output, std::span<const double> data) {
  std::vector<double> alone;
  for (int i = 0; i <= alone_steps; ++i) {
    alone.push_back(timed([&] {
      output.begin(data);
      output.finish();
    }));
  }
  alone.erase(alone.begin());  // the first makes memory
  return median(alone);
}

/// Mean and 95 % interval of the slow-downs in percent.
void add_interval(Values& values, const std::vector<double>& percents) {
  const auto n = static_cast<double>(percents.size());
  const double mean = std::accumulate(percents.begin(), percents.end(), 0.0) / n;
  double squares = 0;
  for (const double percent : percents) squares += (percent - mean) * (percent - mean);
  constexpr double student = 2.145;  // of 15 pairs; a little wide for more
  const double half = n > 1 ? student * std::sqrt(squares / (n - 1) / n) : 0;
  values.emplace_back("slow_percent", mean);
  values.emplace_back("slow_low_percent", mean - half);
  values.emplace_back("slow_high_percent", mean + half);
}

}  // namespace

Values run_overlap(World& world, const Job& job, Background& output) {
  const std::uint64_t elements = job.number("mib") * (1 << 20) / sizeof(double);
  const std::uint64_t pairs = job.number("pairs");
  const std::uint64_t polls = job.number("polls", 0);
  const auto data = world.data(elements);
  const Timing timed(world.comm());
  Computing computing;
  const double alone_s = step_alone_s(timed, output, data);
  Copying copying(timed, data);
  copying();
  const std::uint64_t units = units_of(timed, computing, alone_s);
  const std::uint64_t between = polls == 0 ? units + 1 : std::max<std::uint64_t>(1, units / polls);

  std::vector<double> copies;
  std::vector<double> visible;
  std::vector<double> of_copy;
  std::vector<double> left;
  std::vector<double> slow;
  std::vector<double> costs;
  double durable = 0;
  double cpu_s = 0;
  for (std::uint64_t pair = 0; pair < pairs; ++pair) {
    const auto compute = [&](bool moves_on) {
      for (std::uint64_t i = 0; i < units; ++i) {
        computing.unit();
        if (moves_on && i % between == between - 1) output.progress();
      }
    };
    copies.push_back(copying());
    const double quiet_s = timed([&] { compute(false); });
    const double before_s = other_threads_s();
    visible.push_back(timed([&] { output.begin(data); }));
    of_copy.push_back(visible.back() / copies.back());
    const double beside_s = timed([&] { compute(true); });
    int is_durable = output.is_durable() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &is_durable, 1, MPI_INT, MPI_MIN, world.comm());
    left.push_back(timed([&] { output.finish(); }));
    cpu_s += other_threads_s() - before_s;
    durable += is_durable;
    slow.push_back(100 * (beside_s / quiet_s - 1));
    costs.push_back(visible.back() + beside_s + left.back() - quiet_s);
  }
  double used = cpu_s + (computing.sum() < 0 || copying.last() != data.back() ? 1 : 0);
  MPI_Allreduce(MPI_IN_PLACE, &used, 1, MPI_DOUBLE, MPI_SUM, world.comm());
  const double gigabytes =
      1e-9 * static_cast<double>(pairs * elements * sizeof(double)) * world.ranks();
  Values values{{"alone_s", alone_s},
                {"copy_s", median(copies)},
                {"visible_s", median(visible)},
                {"visible_of_copy", median(of_copy)},
                {"left_s", median(left)},
                {"cost_s", median(costs)},
                {"durable_share", durable / static_cast<double>(pairs)},
                {"cpu_ms_per_gb", 1e3 * used / gigabytes}};
  add_interval(values, slow);
  return values;
}

}  // namespace sluice::bench
