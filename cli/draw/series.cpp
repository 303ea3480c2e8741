#include "draw/series.hpp"

#include <algorithm>
#include <cmath>

#include "text/text.hpp"

namespace sluice::cli {

double Series::least() const {
  double least = std::nan("");
  for (const StepStats& one : stats) {
    least = std::fmin(least, one.least);
  }
  return least;
}

double Series::most() const {
  double most = std::nan("");
  for (const StepStats& one : stats) {
    most = std::fmax(most, one.most);
  }
  return most;
}

void Series::set_times(Frame& frame) const {
  const auto [first, last] = std::minmax_element(x.begin(), x.end());
  frame.x_low = *first;
  frame.x_high = *last > *first ? *last : *first + 1;
}

std::vector<Curve> Series::curves() const {
  Curve band;
  Curve mean;
  for (std::size_t i = 0; i < stats.size(); ++i) {
    band.points.push_back({x[i], stats[i].least});
    band.up_to.push_back(stats[i].most);
    mean.points.push_back({x[i], stats[i].mean});
  }
  return {band, mean};
}

StepTimes::StepTimes(commit::Input& input) : input_(input) {
  const auto& variables = input.variables();
  const bool has_own = input.has_own_time();
  for (std::uint32_t v = 0; v < variables.size() && has_own; ++v) {
    const model::Definition& d = variables[v].definition;
    if (d.name == layout::time_name && d.stepped && d.shape.empty() && can_draw(d)) {
      own_ = v;
    }
  }
  unit_ = own_ || !has_own ? unit_of(input, layout::time_name) : "";
}

double StepTimes::of(std::uint64_t step) {
  if (!own_) {
    return input_.time(step);
  }
  const StepStats value = stats_of(input_, *own_, step);
  return value.finite != 0 ? value.mean : std::nan("");
}

Series series_of(commit::Input& input, std::uint32_t variable, std::uint64_t most_steps) {
  Series series;
  const std::uint64_t all = input.steps();
  const std::uint64_t wanted = std::min(all, std::max<std::uint64_t>(2, most_steps));
  bool has_times = true;
  StepTimes times(input);
  for (std::uint64_t i = 0; i < wanted; ++i) {
    const std::uint64_t step = wanted == 1 ? 0 : i * (all - 1) / (wanted - 1);
    series.steps.push_back(step);
    series.x.push_back(times.of(step));
    has_times = has_times && std::isfinite(series.x.back());
    series.stats.push_back(stats_of(input, variable, step));
  }
  for (std::size_t i = 0; i < series.steps.size() && !has_times; ++i) {
    series.x[i] = static_cast<double>(series.steps[i]);
  }
  const std::string unit = printable(times.unit());
  series.x_title = !has_times ? "step" : unit.empty() || unit == "1" ? "time" : "time in " + unit;
  return series;
}

std::string unit_of(const commit::Input& input, const std::string& variable) {
  for (const model::Attribute& attribute : input.attributes()) {
    if (attribute.owner == variable && attribute.name == "units") {
      const std::string* text = model::text_of(attribute.value);
      return text != nullptr ? *text : "";
    }
  }
  return "";
}

}  // namespace sluice::cli
