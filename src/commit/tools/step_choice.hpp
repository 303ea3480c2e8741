// Which steps of a file become steps of another: all of them, a range, or one alone, whose
// variables have no steps then. And what is asked of steps when a file is rewritten.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "commit/read/input.hpp"
#include "exec/transport/agree.hpp"
#include "layout/encoding.hpp"
#include "layout/formats/formats.hpp"
#include "model/block.hpp"
#include "model/bytes.hpp"
#include "model/definition.hpp"
#include "model/kernels.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

/// Steps from `first` to before `end` (none: to the last), one in `stride`. Negative bounds count
/// from the end.
struct StepRange {
  std::int64_t first = 0;
  std::optional<std::int64_t> end = {};
  std::uint64_t stride = 1;
};

class StepChoice {
 public:
  /// Error out_of_bounds where `range` holds no step, or one that is not there.
  StepChoice(const Input& input, const StepRange& range) : is_one_(false) {
    const auto steps = static_cast<std::int64_t>(input.steps());
    const std::int64_t first = from_begin(range.first, steps);
    const std::int64_t end = from_begin(range.end.value_or(steps), steps);
    if (range.stride == 0 || first < 0 || end > steps || first >= end) {
      throw Error(Code::out_of_bounds,
                  input.path() + ": steps were asked for: it has " +
                      (steps == 0 ? "none: in a file of another program they may be a dimension"
                                  : std::to_string(steps) + ", numbered from 0") +
                      (first >= end && steps != 0 ? "; the range holds none of them" : ""));
    }
    first_ = static_cast<std::uint64_t>(first);
    steps_ = (static_cast<std::uint64_t>(end - first) - 1) / range.stride + 1;
    stride_ = steps_ > 1 ? range.stride : 1;
  }
  /// `only`: one alone; negative: from the end. Error out_of_bounds.
  StepChoice(const Input& input, std::optional<std::int64_t> only)
      : is_one_(only), steps_(only ? 0 : input.steps()) {
    const auto steps = static_cast<std::int64_t>(input.steps());
    const std::int64_t chosen = from_begin(only.value_or(0), steps);
    if (only && (chosen < 0 || chosen >= steps)) {
      throw Error(Code::out_of_bounds, input.path() + ": step " + std::to_string(*only) +
                                           " was asked for: it has " + std::to_string(steps) +
                                           " steps");
    }
    first_ = static_cast<std::uint64_t>(chosen);
  }

  bool is_one() const noexcept { return is_one_; }
  /// Of the new file.
  std::uint64_t steps() const noexcept { return steps_; }
  /// Of the old one.
  std::uint64_t first() const noexcept { return first_; }
  /// The step of the old one that becomes `step` of the new one.
  std::uint64_t source(std::uint64_t step) const noexcept { return first_ + step * stride_; }
  /// Those of the file, as they are true of the chosen steps.
  std::vector<model::Attribute> attributes(const Input& input) const {
    std::vector<model::Attribute> attributes = input.attributes();
    if (is_one_ || steps_ != input.steps()) {
      layout::choose_steps(attributes, {first_, stride_, is_one_ ? 1 : steps_});
    }
    return attributes;
  }
  /// What is not kept of it.
  std::string text(const Input& input) const {
    const double time = input.time(first_);
    std::string said = "step " + std::to_string(first_) + " alone, without steps";
    if (time == time) {
      said += "; its time was " +
              model::value_text(reinterpret_cast<const std::byte*>(&time), type_of<double>());
      for (const model::Attribute& attribute : input.attributes()) {
        const std::string* unit = model::text_of(attribute.value);
        const bool is_its = is_unit(attribute) && !input.has_own_time();
        said += is_its && unit != nullptr ? " (" + *unit + ")" : "";
      }
    }
    return said;
  }
  /// Is it an attribute of the times, which the new file does not have, and not in text()?
  bool loses(const Input& input, const model::Attribute& attribute) const {
    if (!is_one_ || attribute.owner != layout::time_name || input.has_own_time()) {
      return false;
    }
    const double time = input.time(first_);
    return !is_unit(attribute) || !std::holds_alternative<std::string>(attribute.value) ||
           time != time;
  }
  /// `definition` of a variable becomes that in the new file.
  void settle(const Input& input, std::uint32_t variable, model::Definition& definition) const {
    if (is_one_ && definition.stepped) {
      definition.shape = input.shape(variable, first_);
      definition.stepped = definition.varying = false;
      definition.chunk = layout::is_encoded(definition) ? definition.chunk : model::Dims();
    }
  }

 private:
  /// Negative numbers count from the end.
  static std::int64_t from_begin(std::int64_t number, std::int64_t steps) {
    return number < 0 ? number + steps : number;
  }
  static bool is_unit(const model::Attribute& attribute) {
    return attribute.owner == layout::time_name && attribute.name == "units";
  }
  bool is_one_;
  std::uint64_t steps_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t stride_ = 1;
};

/// Of any step.
inline std::uint64_t most_rows(const Input& input, std::uint32_t variable) {
  std::uint64_t most = 1;
  for (std::uint64_t step = 0; step < input.steps(); ++step) {
    most = std::max(most, input.shape(variable, step)[0]);
  }
  return most;
}

/// Collective: Catalog::parts on every rank.
inline std::vector<std::uint64_t> parts_of(exec::Transport& transport, Input& input,
                                           std::uint32_t variable, std::uint64_t step) {
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    out.put(input.catalog().parts(input.number_in_catalog(variable), step));
  });
  return in.get_vector<std::uint64_t>();
}

}  // namespace sluice::commit
