#include "checkpoint.hpp"

#include <stdexcept>

#include "timing.hpp"

namespace sluice::bench {

Values run_saves(World& world, const Job& job, Background& output) {
  const auto data = world.data(elements_of(job));
  const std::uint64_t saves = job.number("saves");
  const Timing timed(world.comm());
  Copying copying(timed, data);
  copying();
  std::vector<double> copies;
  std::vector<double> visible;
  std::vector<double> of_copy;
  std::vector<double> durable;
  for (std::uint64_t i = 0; i <= saves; ++i) {
    const double copy_s = copying();
    const double visible_s = timed([&] { output.begin(data); });
    const double left_s = timed([&] { output.finish(); });
    if (i == 0) continue;  // the first makes memory
    copies.push_back(copy_s);
    visible.push_back(visible_s);
    of_copy.push_back(visible_s / copy_s);
    durable.push_back(visible_s + left_s);
  }
  if (copying.last() != data.back()) throw std::runtime_error("checkpoint: a copy differs");
  return {{"copy_s", median(copies)},
          {"visible_s", median(visible)},
          {"visible_of_copy", median(of_copy)},
          {"durable_s", median(durable)}};
}

}  // namespace sluice::bench
