#include "compare/diff_report.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "text/table.hpp"
#include "text/text.hpp"
#include "text/values.hpp"

namespace sluice::cli {

namespace {

constexpr std::size_t most_text_columns = 30;

const model::Attribute* find(const std::vector<model::Attribute>& attributes,
                             const model::Attribute& like) {
  for (const model::Attribute& attribute : attributes) {
    if (attribute.owner == like.owner && attribute.name == like.name) {
      return &attribute;
    }
  }
  return nullptr;
}

std::string place_text(const VariableResult& variable, const Pair& pair) {
  std::vector<std::string> parts;
  if (variable.is_stepped) {
    parts.push_back("step " + std::to_string(pair.step));
  }
  if (!pair.at.empty()) {
    parts.push_back(pair.at.text());
  }
  return parts.empty() ? "" : fmt::format(" at {}", fmt::join(parts, ", "));
}

std::vector<std::string> lines_of(const VariableResult& variable, const Tolerance& tolerance) {
  std::vector<std::string> lines = variable.structure;
  const Differences& d = variable.differences;
  if (d.differing != 0) {
    lines.push_back(fmt::format("{} of {} differ{}{}", d.differing,
                                count_text(d.elements, "element"), d.elements == 1 ? "s" : "",
                                tolerance.is_exact() ? "" : " by more than the tolerance"));
  } else if (lines.empty()) {
    lines.emplace_back(d.largest ? "equal within the tolerance" : "equal");
  }
  if (d.largest) {
    const Pair& pair = *d.largest;
    // Booleans and strings have no size of a difference: the first one is reported.
    const std::string what =
        pair.gap > 0 ? fmt::format("largest difference {:.6g}", pair.gap) : "first difference";
    lines.push_back("  " + what + place_text(variable, pair));
    lines.push_back("  " + shortened(pair.a, most_text_columns) + " against " +
                    shortened(pair.b, most_text_columns));
  }
  return lines;
}

}  // namespace

std::vector<AttributeResult> compare_attributes(const std::vector<model::Attribute>& a,
                                                const std::vector<model::Attribute>& b,
                                                std::uint64_t& compared) {
  std::vector<AttributeResult> results;
  for (const model::Attribute& left : a) {
    ++compared;
    const model::Attribute* right = find(b, left);
    if (right == nullptr) {
      results.push_back({left.owner, left.name, attribute_text(left.value), "", true, false});
    } else if (!same_value(left.value, right->value)) {
      results.push_back({left.owner, left.name, attribute_text(left.value),
                         attribute_text(right->value), true, true});
    }
  }
  for (const model::Attribute& right : b) {
    if (find(a, right) == nullptr) {
      ++compared;
      results.push_back({right.owner, right.name, "", attribute_text(right.value), false, true});
    }
  }
  return results;
}

std::size_t DiffReport::differing_variables() const {
  return static_cast<std::size_t>(
      std::count_if(variables.begin(), variables.end(),
                    [](const VariableResult& variable) { return !variable.is_equal(); }));
}

std::string DiffReport::text() const {
  std::string out = fmt::format("A: {}\nB: {}\n", printable(a), printable(b));
  Table table({"VARIABLE", "A AGAINST B"});
  for (const VariableResult& variable : variables) {
    std::string name = printable(variable.name);
    for (const std::string& line : lines_of(variable, tolerance)) {
      table.add({name, line});
      name.clear();
    }
  }
  out += table.empty() ? std::string() : fmt::format("\n{}", table.text());
  if (!attributes.empty()) {
    Table others({"ATTRIBUTE", "OF", "A", "B"});
    for (const AttributeResult& attribute : attributes) {
      const auto side = [](bool is_there, const std::string& text) {
        return is_there ? shortened(text, 24) : "-";
      };
      others.add({printable(attribute.name),
                  attribute.owner.empty() ? "the file" : printable(attribute.owner),
                  side(attribute.in_a, attribute.a), side(attribute.in_b, attribute.b)});
    }
    out += fmt::format("\n{}", others.text());
  }
  if (!not_compared.empty()) {
    out += "\nNot compared (types that Sluice does not read):\n";
    for (const std::string& name : not_compared) {
      out += "  " + printable(name) + "\n";
    }
  }
  const std::string cost =
      fmt::format("{} of each in {}", bytes_text(bytes), seconds_text(seconds));
  if (is_equal()) {
    return out + fmt::format("\nequal{}: {}, {}; {}\n",
                             tolerance.is_exact() ? "" : " within the tolerance",
                             count_text(variables.size(), "variable"),
                             count_text(attributes_compared, "attribute"), cost);
  }
  return out + fmt::format("\ndifferent: {} of {}, {} of {}; {}\n", differing_variables(),
                           count_text(variables.size(), "variable"), attributes.size(),
                           count_text(attributes_compared, "attribute"), cost);
}

nlohmann::ordered_json DiffReport::json() const {
  using Json = nlohmann::ordered_json;
  Json json;
  json["a"] = a;
  json["b"] = b;
  json["equal"] = is_equal();
  json["variables"] = Json::array();
  for (const VariableResult& variable : variables) {
    const Differences& d = variable.differences;
    Json one{{"name", variable.name},           {"equal", variable.is_equal()},
             {"structure", variable.structure}, {"elements", d.elements},
             {"differing", d.differing},        {"largest", nullptr}};
    if (d.largest) {
      one["largest"] = {
          {"difference", std::isfinite(d.largest->gap) ? Json(d.largest->gap) : Json("Infinity")},
          {"step", variable.is_stepped ? Json(d.largest->step) : Json()},
          {"at", std::vector<std::uint64_t>(d.largest->at.begin(), d.largest->at.end())},
          {"a", d.largest->a},
          {"b", d.largest->b}};
    }
    json["variables"].push_back(one);
  }
  json["attributes"] = Json::array();
  for (const AttributeResult& attribute : attributes) {
    json["attributes"].push_back({{"owner", attribute.owner},
                                  {"name", attribute.name},
                                  {"a", attribute.in_a ? Json(attribute.a) : Json()},
                                  {"b", attribute.in_b ? Json(attribute.b) : Json()}});
  }
  json["not_compared"] = not_compared;
  json["bytes"] = bytes;
  json["seconds"] = seconds;
  return json;
}

}  // namespace sluice::cli
