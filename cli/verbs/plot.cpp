// plot: a picture of a variable: one step as a field or a line, or its course over the steps.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "draw/chart.hpp"
#include "draw/series.hpp"
#include "exec/transport/solo_transport.hpp"
#include "help.hpp"
#include "new_file.hpp"
#include "sluice/error.hpp"
#include "text/selection.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

constexpr int most_side = 16384;

struct PlotVerb {
  std::string file;
  std::string variable;
  std::string to;
  std::optional<std::int64_t> step;
  bool is_series = false;
  std::string at;
  std::vector<double> range;
  std::vector<int> size{900, 600};
};

class Plot {
 public:
  Plot(commit::Input& input, const PlotVerb& verb)
      : input_(input),
        verb_(verb),
        variable_(input.find(verb.variable)),
        definition_(input.variables()[variable_].definition) {
    require_numbers(definition_);
    frame_.width = verb.size[0];
    frame_.height = verb.size[1];
  }

  Picture draw() {
    const std::vector<double>& range = verb_.range;
    if (!range.empty() &&
        !(std::isfinite(range[0]) && std::isfinite(range[1]) && range[0] < range[1])) {
      throw Error(Code::invalid_argument, "--range: LOW is less than HIGH, and both are finite");
    }
    if (verb_.is_series && (verb_.step || !verb_.at.empty())) {
      throw Error(Code::invalid_argument,
                  "--series is of all steps and elements: leave out --step and --at");
    }
    const bool is_scalar = definition_.shape.empty() && definition_.stepped;
    if (verb_.is_series || (is_scalar && !verb_.step)) {
      return series();
    }
    std::uint64_t step = 0;
    if (definition_.stepped) {
      step = parse_index(verb_.step.value_or(-1), input_.steps(), "--step");
    } else if (verb_.step) {
      throw Error(Code::invalid_argument, definition_.name + " has no steps: leave out --step");
    }
    const model::Dims shape = input_.shape(variable_, step);
    if (shape.volume() <= 1) {
      throw Error(Code::invalid_argument,
                  definition_.name +
                      (shape.volume() == 0 ? ": has no values" : ": one value is no picture") +
                      (definition_.stepped ? ": use --series" : ""));
    }
    return shape.rank() == 1 ? line(step, shape) : field(step, shape);
  }

 private:
  Picture series() {
    if (!definition_.stepped || input_.steps() == 0) {
      throw Error(Code::invalid_argument, definition_.name + " has no steps: leave out --series");
    }
    const Series series = series_of(input_, variable_, input_.steps());
    frame_.title = printable(definition_.name);
    frame_.x_title = series.x_title;
    frame_.y_title = unit();
    if (!definition_.shape.empty()) {
      frame_.title += ": mean, least and most of each step";
    }
    set_values(series.least(), series.most());
    series.set_times(frame_);
    return draw_curves(series.curves(), frame_);
  }

  Picture line(std::uint64_t step, const model::Dims& shape) {
    const Grid grid = grid_of(input_, variable_, step, slice_box(shape, verb_.at),
                              4 * static_cast<std::uint64_t>(frame_.width), 1);
    name(step);
    Curve curve;
    const double width = static_cast<double>(shape[0]) /
                         static_cast<double>(std::max<std::uint64_t>(1, grid.columns));
    for (std::uint64_t i = 0; i < grid.columns; ++i) {
      curve.points.push_back({width * static_cast<double>(i), grid.values[i]});
    }
    set_values_of(grid);
    frame_.x_title = axis(0);
    frame_.y_title = unit();
    frame_.x_high = std::max(1.0, static_cast<double>(shape[0] - 1));
    frame_.x_is_index = true;
    return draw_curves({curve}, frame_);
  }

  Picture field(std::uint64_t step, const model::Dims& shape) {
    const model::Box slice = slice_box(shape, verb_.at);
    const Grid grid =
        grid_of(input_, variable_, step, slice, static_cast<std::uint64_t>(frame_.width),
                static_cast<std::uint64_t>(frame_.height));
    name(step);
    const int rank = shape.rank();
    for (int d = 0; d < rank - 2; ++d) {
      frame_.title += fmt::format(", {} {}", dimension(d), slice.start[d]);
    }
    set_values_of(grid);
    frame_.value_title = unit();
    frame_.y_title = axis(rank - 2);
    frame_.x_title = axis(rank - 1);
    frame_.y_high = static_cast<double>(shape[rank - 2]);
    frame_.x_high = static_cast<double>(shape[rank - 1]);
    frame_.x_is_index = true;
    frame_.y_is_upwards = rows_go_up(input_, variable_);
    return draw_field(grid, frame_);
  }

  void name(std::uint64_t step) {
    frame_.title = printable(definition_.name);
    if (definition_.stepped) {
      frame_.title += fmt::format(", step {}", step);
      const double time = StepTimes(input_).of(step);
      frame_.title += std::isnan(time) ? "" : ", time " + time_text(time);
    }
  }
  std::string dimension(int d) const {
    const auto i = static_cast<std::size_t>(d);
    return i < definition_.dimensions.size() ? printable(definition_.dimensions[i])
                                             : fmt::format("dimension {}", d);
  }
  /// The axes count elements, whatever the values of a coordinate variable of that name are.
  std::string axis(int d) const {
    const std::string name = dimension(d);
    const auto& variables = input_.variables();
    const bool has_values = std::any_of(variables.begin(), variables.end(), [&](const auto& v) {
      return printable(v.definition.name) == name;
    });
    return has_values ? "index of " + name : name;
  }
  std::string unit() const { return printable(unit_of(input_, definition_.name)); }
  void set_values(double least, double most) {
    set_range(frame_, verb_.range.empty() ? least : verb_.range[0],
              verb_.range.empty() ? most : verb_.range[1]);
  }
  void set_values_of(const Grid& grid) {
    double least = std::nan("");
    double most = std::nan("");
    for (const double value : grid.values) {
      least = std::fmin(least, value);
      most = std::fmax(most, value);
    }
    if (std::isnan(least)) {
      frame_.title += ": no finite value";
    }
    set_values(least, most);
  }

  commit::Input& input_;
  const PlotVerb& verb_;
  std::uint32_t variable_;
  const model::Definition definition_;
  Frame frame_;
};

int plot(const Context& context, const PlotVerb& verb) {
  if (!context.is_root()) {
    return fine;
  }
  if (!verb.to.ends_with(".png")) {
    throw Error(Code::invalid_argument, verb.to + ": pictures end in .png");
  }
  require_new(context.storage, verb.to);
  const auto alone = exec::make_solo();
  commit::Input input(*alone, context.storage, verb.file, Options{});
  const Picture picture = Plot(input, verb).draw();
  const auto bytes = encode_png(picture.bytes(), picture.width(), picture.height());
  write_new_file(context.storage, verb.to, bytes);
  return fine;
}

}  // namespace

void add_plot(CLI::App& app, Run& run) {
  const auto verb = std::make_shared<PlotVerb>();
  CLI::App* command =
      add_verb(app, "plot", "draw a step or the course of a variable as a PNG picture",
               "Draws the last step of VARIABLE into the picture TO: a line where it has one\n"
               "dimension, else the last two dimensions in colours, at the middle of the others.\n"
               "The first row is at the top; at the bottom where the coordinate of the rows\n"
               "grows, as of a map. Points that fall on one pixel are averaged.\n"
               "Missing values (_FillValue, missing_value, the fill value) and NaN are grey.\n"
               "A scalar with steps is drawn over time; --series does so with any variable:\n"
               "its mean, with its least and most.\n",
               R"help(
Examples:
  sluice plot field.h5 temperature now.png
  sluice plot field.h5 temperature first.png --step 0 --at 3 --range 300 305
  sluice plot field.h5 temperature course.png --series)help");
  command->add_option("FILE", verb->file, "of any format that Sluice reads")->required();
  command->add_option("VARIABLE", verb->variable, "what to draw")->required();
  command->add_option("TO", verb->to, "the picture to make; must not exist")->required();
  command->add_option("--step", verb->step, "which one; -1: the last")->type_name("N");
  command->add_flag("--series", verb->is_series, "over all steps");
  command->add_option("--at", verb->at, "index of each dimension but the last two")
      ->type_name("I,J");
  command->add_option("--range", verb->range, "of the values that are shown")
      ->type_name("LOW HIGH")
      ->expected(2);
  command->add_option("--size", verb->size, "pixels (900 600)")
      ->type_name("W H")
      ->expected(2)
      ->check(CLI::Range(200, most_side).description(""));
  command->callback(
      [&run, verb] { run = [verb](const Context& context) { return plot(context, *verb); }; });
}

}  // namespace sluice::cli
