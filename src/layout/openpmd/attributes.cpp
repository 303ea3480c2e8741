#include "layout/openpmd/attributes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "layout/openpmd/rules.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::openpmd {

using model::Attribute;
using model::AttributeValue;

namespace {

constexpr const char* value_name = "value";
constexpr const char* shape_name = "shape";
/// Powers of length, mass, time, current, temperature, amount of substance, luminous intensity.
constexpr std::size_t base_units = 7;

enum class Form : std::uint8_t { any, number, numbers, dimension, text, texts, u32, sizes };

struct Rule {
  std::string_view name;
  Form form;
};
constexpr std::array<Rule, 24> rules{{
    {"unitSI", Form::number},
    {"gridUnitSI", Form::number},
    {"timeUnitSI", Form::number},
    {"timeOffset", Form::number},
    {"time", Form::number},
    {"dt", Form::number},
    {"weightingPower", Form::number},
    {"gridSpacing", Form::numbers},
    {"gridGlobalOffset", Form::numbers},
    {"position", Form::numbers},
    {"unitDimension", Form::dimension},
    {"geometry", Form::text},
    {"geometryParameters", Form::text},
    {"dataOrder", Form::text},
    {"openPMD", Form::text},
    {"basePath", Form::text},
    {"meshesPath", Form::text},
    {"particlesPath", Form::text},
    {"iterationEncoding", Form::text},
    {"iterationFormat", Form::text},
    {"axisLabels", Form::texts},
    {"openPMDextension", Form::u32},
    {"macroWeighted", Form::u32},
    {shape_name, Form::sizes},
}};

Form form_for(std::string_view name) {
  const auto* found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.name == name; });
  return found == rules.end() ? Form::any : found->form;
}

/// The numbers of a value, one or a list, as T; empty if it has others.
template <class T>
std::optional<std::vector<T>> numbers_in(const AttributeValue& value) {
  return std::visit(
      [](const auto& v) -> std::optional<std::vector<T>> {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, bool> || std::is_same_v<V, std::string> ||
                      std::is_same_v<V, std::vector<std::string>>) {
          return std::nullopt;
        } else if constexpr (std::is_arithmetic_v<V>) {
          if constexpr (std::is_integral_v<T> && !std::is_integral_v<V>) {
            return std::nullopt;
          } else {
            return std::vector<T>{static_cast<T>(v)};
          }
        } else if constexpr (std::is_integral_v<T> && !std::is_integral_v<typename V::value_type>) {
          return std::nullopt;
        } else {
          return std::vector<T>(v.begin(), v.end());
        }
      },
      value);
}

bool is_list(const AttributeValue& value) {
  return std::visit(
      [](const auto& v) {
        using V = std::decay_t<decltype(v)>;
        return !std::is_arithmetic_v<V> && !std::is_same_v<V, std::string>;
      },
      value);
}

bool is_unsigned(const std::vector<std::int64_t>& values, std::int64_t most) {
  return std::all_of(values.begin(), values.end(),
                     [&](std::int64_t v) { return v >= 0 && v <= most; });
}

std::optional<AttributeValue> as_sizes(const AttributeValue& value, Form form) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  const auto integers = numbers_in<std::int64_t>(value);
  const bool is_one = form == Form::u32;
  if (!integers ||
      !is_unsigned(*integers, is_one ? most : std::numeric_limits<std::int64_t>::max()) ||
      (is_one && integers->size() != 1)) {
    return std::nullopt;
  }
  return is_one ? AttributeValue(integers->front()) : AttributeValue(*integers);
}

}  // namespace

std::optional<AttributeValue> as_stored(std::string_view name, const AttributeValue& value) {
  const Form form = form_for(name);
  const auto* text = std::get_if<std::string>(&value);
  switch (form) {
    case Form::any:
      return value;
    case Form::text:
      return text != nullptr ? std::optional(value) : std::nullopt;
    case Form::texts:
      return text != nullptr ? std::optional<AttributeValue>(std::vector<std::string>{*text})
             : std::holds_alternative<std::vector<std::string>>(value) ? std::optional(value)
                                                                       : std::nullopt;
    case Form::u32:
    case Form::sizes:
      return as_sizes(value, form);
    default:
      break;
  }
  const auto numbers = numbers_in<double>(value);
  const bool fits = numbers &&
                    (form != Form::number || (numbers->size() == 1 && !is_list(value))) &&
                    (form != Form::dimension || numbers->size() == base_units);
  if (!fits) {
    return std::nullopt;
  }
  return form == Form::number ? AttributeValue(numbers->front()) : AttributeValue(*numbers);
}

std::string form_of(std::string_view name) {
  switch (form_for(name)) {
    case Form::number:
      return "a number";
    case Form::numbers:
      return "a list of numbers, one for each dimension";
    case Form::dimension:
      return "7 numbers: the powers of length, mass, time, current, temperature, amount of "
             "substance and luminous intensity";
    case Form::text:
      return "text";
    case Form::texts:
      return "a list of texts, one for each dimension";
    case Form::u32:
      return "an integer from 0 to 4294967295";
    case Form::sizes:
      return "a list of integers from 0 on";
    default:
      return "it is";
  }
}

std::optional<std::vector<std::int64_t>> integers_in(const AttributeValue& value) {
  return numbers_in<std::int64_t>(value);
}

int unsigned_bits(std::string_view name) {
  const Form form = form_for(name);
  return form == Form::u32 ? 32 : form == Form::sizes ? 64 : 0;
}

namespace {

template <class Integer>
bool is_number(const model::Attribute& attribute) {
  const auto* number = std::get_if<Integer>(&attribute.value);
  return number != nullptr && *number >= 0;
}

template <class Integer>
bool is_list_of_numbers(const model::Attribute& attribute) {
  const auto* list = std::get_if<std::vector<Integer>>(&attribute.value);
  return list != nullptr &&
         std::all_of(list->begin(), list->end(), [](Integer number) { return number >= 0; });
}

}  // namespace

std::string refuse_attribute(const model::Attribute& attribute) {
  if (is_iteration(attribute)) {
    const bool is_one = is_number<std::int64_t>(attribute) || is_number<std::int32_t>(attribute);
    const bool is_list =
        attribute.name == iterations_attribute && (is_list_of_numbers<std::int64_t>(attribute) ||
                                                   is_list_of_numbers<std::int32_t>(attribute));
    return is_one || is_list ? "" : "numbers iterations by integers from 0 on";
  }
  if (attribute.owner == base_group || attribute.owner.starts_with("data/")) {
    return "keeps the group data for its iterations: set attributes of `time` for those of an "
           "iteration";
  }
  const bool is_standard =
      attribute.owner.empty() || attribute.owner == time_owner || is_of_iteration(attribute.owner);
  return is_standard && !as_stored(attribute.name, attribute.value)
             ? "holds " + attribute.name + " as " + form_of(attribute.name)
             : "";
}

bool is_of_standard(std::string_view attribute) {
  const std::vector<model::Attribute> written = attributes_of_file();
  return std::any_of(written.begin(), written.end(),
                     [&](const model::Attribute& a) { return a.name == attribute; });
}

std::vector<Attribute> attributes_of_file() {
  return {{"", "openPMD", std::string("1.1.0")},
          {"", "openPMDextension", std::int64_t{0}},
          {"", "basePath", std::string("/data/%T/")},
          {"", "meshesPath", std::string("meshes/")},
          {"", "particlesPath", std::string("particles/")},
          {"", "iterationEncoding", std::string("groupBased")},
          {"", "iterationFormat", std::string("/data/%T/")}};
}

std::vector<Attribute> attributes_of_iteration(double time) {
  return {{"", "time", std::isnan(time) ? 0.0 : time}, {"", "dt", 1.0}, {"", "timeUnitSI", 1.0}};
}

namespace {

using Attributes = std::map<std::string, AttributeValue>;  // of one owner, by name

/// `meshes/E` and `particles/electrons`: what is there, or not, in an iteration as a whole.
std::string unit_of(const std::string& owner) {
  return owner.substr(0, owner.find('/', std::min(owner.find('/'), owner.size() - 1) + 1));
}
std::string record_of(const std::string& component) {
  const std::vector<std::string_view> parts = parts_of(component);
  const std::size_t depth = parts[0] == meshes_group ? 2 : 3;
  std::string record;
  for (std::size_t i = 0; i < std::min(depth, parts.size()); ++i) {
    record += (i == 0 ? "" : "/") + std::string(parts[i]);
  }
  return record;
}
bool is_mesh(const std::string& owner) { return parts_of(owner)[0] == meshes_group; }
bool is_patch(const std::string& owner) {
  return record_of(owner).ends_with("/particlePatches") && !is_mesh(owner);
}

/// Slowest dimension first: the last one is x.
std::vector<std::string> axes_of(std::size_t rank) {
  std::vector<std::string> axes;
  for (std::size_t d = rank; d > 0; --d) {
    axes.push_back(d <= 3 ? std::string(1, static_cast<char>('x' + d - 1))
                          : "axis" + std::to_string(d));
  }
  return axes;
}

class Iteration {
 public:
  Iteration(const std::vector<Component>& components, const std::vector<Attribute>& set) {
    for (const Component& component : components) {
      if (is_of_iteration(component.name)) {
        shapes_[component.name] = component.shape;
      }
    }
    for (const Attribute& attribute : set) {
      if (is_of_iteration(attribute.owner)) {
        if (auto value = as_stored(attribute.name, attribute.value)) {
          of_[attribute.owner].insert_or_assign(attribute.name, std::move(*value));
        }
      }
    }
    add_offsets();
    leave_absent();
    add_constants();
    add_required();
  }

  std::vector<Attribute> all() const {
    std::vector<Attribute> attributes;
    for (const auto& [owner, values] : of_) {
      for (const auto& [name, value] : values) {
        attributes.push_back({owner, name, value});
      }
    }
    return attributes;
  }

 private:
  void give(const std::string& owner, const char* name, AttributeValue value) {
    of_[owner].try_emplace(name, std::move(value));
  }
  bool is_constant(const std::string& owner) const {
    const auto found = of_.find(owner);
    return found != of_.end() && shapes_.count(owner) == 0 && found->second.count(value_name) != 0;
  }
  bool has_below(const std::string& record) const {
    const auto is_in = [&](const auto& entry) { return record_of(entry.first) == record; };
    return std::any_of(shapes_.begin(), shapes_.end(), is_in) ||
           std::any_of(of_.begin(), of_.end(),
                       [&](const auto& entry) { return is_in(entry) && is_constant(entry.first); });
  }

  /// Positions count from zero where the caller has no offsets.
  void add_offsets() {
    for (const auto& [name, shape] : shapes_) {
      const std::string record = record_of(name);
      constexpr std::string_view position = "/position";
      if (is_mesh(name) || !record.ends_with(position)) {
        continue;
      }
      const std::string offset = record + "Offset";
      if (wanted_.count(offset) != 0 || !has_below(offset)) {
        wanted_.insert(offset);
        give(offset + name.substr(record.size()), value_name, 0.0);
      }
    }
  }

  /// What this iteration has nothing of keeps no attributes in it.
  void leave_absent() {
    std::map<std::string, bool> is_there;
    for (const auto& [name, shape] : shapes_) {
      is_there[unit_of(name)] = true;
    }
    for (const auto& [owner, values] : of_) {
      if (is_mesh(owner) && is_constant(owner) && values.count(shape_name) != 0) {
        is_there[unit_of(owner)] = true;
      }
    }
    std::erase_if(of_, [&](const auto& entry) {
      const bool is_of_all = entry.first.find('/') == std::string::npos;
      return !is_of_all && is_there.count(unit_of(entry.first)) == 0;
    });
  }

  void add_constants() {
    for (auto& [owner, values] : of_) {
      if (!is_constant(owner) || is_patch(owner)) {
        continue;
      }
      constants_[owner] = {};
      if (const auto known = values.find(shape_name); known != values.end()) {
        for (const std::int64_t size : std::get<std::vector<std::int64_t>>(known->second)) {
          constants_[owner].push_back(static_cast<std::uint64_t>(size));
        }
        continue;
      }
      constants_[owner] = shape_beside(owner);
      std::vector<std::int64_t> sizes;
      for (const std::uint64_t size : constants_[owner]) {
        sizes.push_back(static_cast<std::int64_t>(size));
      }
      values[shape_name] = sizes;
    }
  }

  /// Of the other components of the mesh, or of the species.
  model::Dims shape_beside(const std::string& owner) const {
    const auto beside = std::find_if(shapes_.begin(), shapes_.end(), [&](const auto& entry) {
      return is_mesh(owner) ? record_of(entry.first) == record_of(owner)
                            : unit_of(entry.first) == unit_of(owner) && !is_patch(entry.first);
    });
    if (beside == shapes_.end()) {
      throw Error(Code::invalid_argument,
                  owner +
                      ": is constant, and nothing beside it says its shape: set its attribute "
                      "shape");
    }
    return beside->second;
  }

  void add_required() {
    for (const auto& [component, shape] : shapes_) {
      add_required_of(component, shape);
    }
    for (const auto& [component, shape] : constants_) {
      add_required_of(component, shape);
    }
  }

  void add_required_of(const std::string& component, const model::Dims& shape) {
    give(component, "unitSI", 1.0);
    if (is_patch(component)) {
      return;
    }
    const std::string record = record_of(component);
    std::vector<double> dimension(base_units, 0.0);
    dimension[0] = record.ends_with("/position") || record.ends_with("/positionOffset") ? 1 : 0;
    const auto rank = static_cast<std::size_t>(shape.rank());
    if (is_mesh(component)) {
      give(component, "position", std::vector<double>(rank, 0.0));
      dimension[0] = 0;
      give(record, "geometry", std::string("cartesian"));
      give(record, "dataOrder", std::string("C"));
      give(record, "axisLabels", axes_of(rank));
      give(record, "gridSpacing", std::vector<double>(rank, 1.0));
      give(record, "gridGlobalOffset", std::vector<double>(rank, 0.0));
      give(record, "gridUnitSI", 1.0);
    }
    give(record, "unitDimension", std::move(dimension));
    give(record, "timeOffset", 0.0);
  }

  std::map<std::string, model::Dims> shapes_;     ///< of the variables
  std::map<std::string, model::Dims> constants_;  ///< shapes of constant components
  std::map<std::string, Attributes> of_;          ///< by owner
  std::set<std::string> wanted_;                  ///< records of offsets that were added
};

}  // namespace

std::vector<Attribute> attributes_below(const std::vector<Component>& components,
                                        const std::vector<Attribute>& set) {
  return Iteration(components, set).all();
}

}  // namespace sluice::layout::openpmd
