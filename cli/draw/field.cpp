#include "draw/field.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <sstream>
#include <type_traits>
#include <variant>

#include "commit/tools/fills.hpp"
#include "layout/portion.hpp"
#include "model/convert.hpp"
#include "model/kinds.hpp"
#include "sluice/error.hpp"
#include "text/selection.hpp"

namespace sluice::cli {

namespace {

using model::Box;
using model::Dims;

/// Elements as doubles: false and true are 0 and 1.
void widen(std::span<const std::byte> elements, const Type& type, std::vector<double>& values) {
  if (type.kind == Kind::boolean) {
    values.resize(elements.size());
    std::transform(elements.begin(), elements.end(), values.begin(),
                   [](std::byte one) { return one != std::byte{0} ? 1.0 : 0.0; });
    return;
  }
  const Dims count = Dims::filled(1, elements.size() / type.bytes);
  const Box all{Dims::filled(1, 0), count};
  values.resize(count[0]);
  model::unpack(
      elements, type, all, all,
      {reinterpret_cast<std::byte*>(values.data()), type_of<double>(), count, Dims::filled(1, 0)},
      true);
}

/// Elements that stand for missing ones.
class Missing {
 public:
  Missing(const commit::Input& input, const model::Definition& definition)
      : type_(definition.type), elements_(commit::missing_elements(input, definition)) {}

  /// Integers are compared before they are doubles, in which neighbours may be equal; zeros of
  /// both signs are one.
  void replace(std::span<const std::byte> elements, std::vector<double>& values) const {
    std::vector<double> one;
    for (const std::vector<std::byte>& missing : elements_) {
      if (model::is_floating(type_.kind)) {
        widen(missing, type_, one);
        std::replace(values.begin(), values.end(), one[0], std::nan(""));
        continue;
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::memcmp(elements.data() + i * type_.bytes, missing.data(), type_.bytes) == 0) {
          values[i] = std::nan("");
        }
      }
    }
  }

 private:
  Type type_;
  std::vector<std::vector<std::byte>> elements_;
};

/// The value of an attribute that is a number, also one that is alone in a list.
struct NumberIn {
  template <class T>
  std::optional<double> operator()(const T& value) const {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      return static_cast<double>(value);
    } else {
      return std::nullopt;
    }
  }
  template <class T>
  std::optional<double> operator()(const std::vector<T>& values) const {
    return values.size() == 1 ? (*this)(values[0]) : std::nullopt;
  }
};

/// Packed values of the CF conventions: the unit is that of the unpacked ones.
class Packing {
 public:
  Packing(const commit::Input& input, const std::string& variable) {
    for (const std::size_t i : input.attributes_of(variable)) {
      const model::Attribute& attribute = input.attributes()[i];
      if (attribute.name == "scale_factor") {
        scale_ = std::visit(NumberIn{}, attribute.value);
      } else if (attribute.name == "add_offset") {
        offset_ = std::visit(NumberIn{}, attribute.value);
      }
    }
  }
  void unpack(std::vector<double>& values) const {
    if (!scale_ && !offset_) {
      return;
    }
    for (double& value : values) {
      value = value * scale_.value_or(1) + offset_.value_or(0);
    }
  }

 private:
  std::optional<double> scale_;
  std::optional<double> offset_;
};

/// Calls visit(box, values) for one part after the other: unpacked values, NaN where they are
/// missing.
template <class Visit>
void for_each_part(commit::Input& input, std::uint32_t variable, std::uint64_t step, const Box& box,
                   Visit&& visit) {
  if (box.volume() == 0) {
    return;
  }
  const model::Definition& definition = input.variables()[variable].definition;
  const Missing missing(input, definition);
  const Packing packing(input, definition.name);
  std::vector<std::byte> elements;
  std::vector<double> values;
  layout::for_each_part(box, sizeof(double), layout::portion_bytes, [&](const Box& part) {
    elements.resize(part.volume() * definition.type.bytes);
    input.get(commit::dense_request(variable, step, part, elements.data(), definition.type));
    widen(elements, definition.type, values);
    missing.replace(elements, values);
    packing.unpack(values);
    visit(part, values);
  });
}

/// Of that name in the group of `variable`, or else in the root; without steps and of numbers.
std::optional<std::uint32_t> find_beside(const commit::Input& input, const std::string& variable,
                                         const std::string& name) {
  const std::size_t slash = variable.rfind('/');
  std::optional<std::uint32_t> found;
  for (std::uint32_t v = 0; v < input.variables().size(); ++v) {
    const model::Definition& d = input.variables()[v].definition;
    if (d.stepped || !can_draw(d)) {
      continue;
    }
    if (slash != std::string::npos && d.name == variable.substr(0, slash + 1) + name) {
      return v;
    }
    found = d.name == name ? v : found;
  }
  return found;
}

/// A text attribute; "" where there is none.
std::string text_of(const commit::Input& input, std::uint32_t variable, const char* name) {
  for (const std::size_t i : input.attributes_of(input.variables()[variable].definition.name)) {
    const model::Attribute& attribute = input.attributes()[i];
    if (const std::string* text = model::text_of(attribute.value); text && attribute.name == name) {
      return *text;
    }
  }
  return "";
}

/// By the units that the CF conventions list.
bool is_latitude(const commit::Input& input, std::uint32_t variable) {
  const std::string unit = text_of(input, variable, "units");
  constexpr std::array known = {"degrees_north", "degree_north", "degrees_N",
                                "degree_N",      "degreesN",     "degreeN"};
  return std::find(known.begin(), known.end(), unit) != known.end();
}

/// From the first row to the last, in the middle of each; NaN where one of them is missing.
double change_along_rows(commit::Input& input, std::uint32_t variable) {
  const Dims& shape = input.variables()[variable].definition.shape;
  const auto value_in = [&](std::uint64_t row) {
    Box one{shape, Dims::filled(shape.rank(), 1)};
    for (int d = 0; d < shape.rank(); ++d) {
      one.start[d] = d == 0 ? row : shape[d] / 2;
    }
    double found = std::nan("");
    for_each_part(input, variable, 0, one,
                  [&](const Box&, const std::vector<double>& values) { found = values[0]; });
    return found;
  };
  return shape.volume() == 0 ? std::nan("") : value_in(shape[0] - 1) - value_in(0);
}

/// Of values whose sum is beyond the largest number, although their mean is not.
constexpr double scale_of_sums = 0x1p-64;

}  // namespace

bool can_draw(const model::Definition& definition) {
  switch (definition.type.kind) {
    case Kind::string:
    case Kind::c64:
    case Kind::c128:
      return false;
    default:
      return true;
  }
}

void require_numbers(const model::Definition& definition) {
  if (!can_draw(definition)) {
    throw Error(Code::unsupported, definition.name + ": " + type_name(definition.type) +
                                       " is not drawn, integers, floats and bools are: choose "
                                       "another variable");
  }
}

StepStats stats_of(commit::Input& input, std::uint32_t variable, std::uint64_t step) {
  const Box all = model::whole(input.shape(variable, step));
  StepStats stats;
  for (const double scale : {1.0, scale_of_sums}) {
    stats = {};
    double sum = 0;
    stats.least = std::numeric_limits<double>::infinity();
    stats.most = -stats.least;
    for_each_part(input, variable, step, all, [&](const Box&, const std::vector<double>& values) {
      for (const double value : values) {
        if (!std::isfinite(value)) {
          ++(std::isinf(value) ? stats.infinite : stats.missing);
          continue;
        }
        ++stats.finite;
        sum += value * scale;
        stats.least = std::min(stats.least, value);
        stats.most = std::max(stats.most, value);
      }
    });
    stats.mean = sum / static_cast<double>(stats.finite) / scale;
    if (std::isfinite(sum)) {
      break;
    }
  }
  if (stats.finite == 0) {
    stats.least = stats.most = stats.mean = std::nan("");
  }
  return stats;
}

Box slice_box(const Dims& shape, const std::string& indices) {
  Box box = model::whole(shape);
  const int fixed = std::max(0, shape.rank() - 2);
  const Dims at = indices.empty() ? Dims{} : parse_list(indices, fixed, "--at");
  for (int d = 0; d < fixed; ++d) {
    box.start[d] = indices.empty() ? shape[d] / 2 : at[d];
    if (box.start[d] >= shape[d]) {
      throw Error(Code::out_of_bounds, "--at " + indices + ": dimension " + std::to_string(d) +
                                           " has " + std::to_string(shape[d]) +
                                           " indices, numbered from 0");
    }
    box.count[d] = 1;
  }
  return box;
}

bool rows_go_up(commit::Input& input, std::uint32_t variable) {
  const model::Definition& d = input.variables()[variable].definition;
  const int rank = d.shape.rank();
  if (rank < 2) {
    return false;
  }
  if (d.dimensions.size() == static_cast<std::size_t>(rank)) {
    const auto found = find_beside(input, d.name, d.dimensions[d.dimensions.size() - 2]);
    if (found && *found != variable &&
        input.variables()[*found].definition.shape == Dims{d.shape[rank - 2]}) {
      const double change = change_along_rows(input, *found);
      const bool is_down = text_of(input, *found, "positive") == "down";
      return is_down ? change < 0 : change > 0;
    }
  }
  std::istringstream names(text_of(input, variable, "coordinates"));
  for (std::string name; names >> name;) {
    const auto found = find_beside(input, d.name, name);
    if (found && is_latitude(input, *found) &&
        input.variables()[*found].definition.shape == Dims{d.shape[rank - 2], d.shape[rank - 1]}) {
      return change_along_rows(input, *found) > 0;
    }
  }
  return false;
}

Grid grid_of(commit::Input& input, std::uint32_t variable, std::uint64_t step, const Box& slice,
             std::uint64_t most_columns, std::uint64_t most_rows) {
  const int rank = slice.count.rank();
  const std::uint64_t columns = rank == 0 ? 1 : slice.count[rank - 1];
  const std::uint64_t rows = rank < 2 ? 1 : slice.count[rank - 2];
  Grid grid;
  grid.columns = std::min(columns, most_columns);
  grid.rows = std::min(rows, most_rows);
  std::vector<std::uint64_t> counts;
  double scale = 1;
  const auto take = [&](const Box& part, const std::vector<double>& values) {
    const std::uint64_t width = rank == 0 ? 1 : part.count[rank - 1];
    const std::uint64_t left = rank == 0 ? 0 : part.start[rank - 1] - slice.start[rank - 1];
    const std::uint64_t top = rank < 2 ? 0 : part.start[rank - 2] - slice.start[rank - 2];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint64_t column = (left + i % width) * grid.columns / columns;
      const std::uint64_t row = (top + i / width) * grid.rows / rows;
      if (std::isfinite(values[i])) {
        grid.values[row * grid.columns + column] += values[i] * scale;
        ++counts[row * grid.columns + column];
      }
    }
  };
  for (const double each : {1.0, scale_of_sums}) {
    scale = each;
    grid.values.assign(grid.columns * grid.rows, 0);
    counts.assign(grid.values.size(), 0);
    for_each_part(input, variable, step, slice, take);
    if (std::all_of(grid.values.begin(), grid.values.end(),
                    [](double sum) { return std::isfinite(sum); })) {
      break;
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    grid.values[i] =
        counts[i] == 0 ? std::nan("") : grid.values[i] / static_cast<double>(counts[i]) / scale;
  }
  return grid;
}

}  // namespace sluice::cli
