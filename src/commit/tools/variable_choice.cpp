#include "commit/tools/variable_choice.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string_view>

#include "layout/catalog.hpp"
#include "model/name.hpp"

namespace sluice::commit {

namespace {

constexpr std::array<std::string_view, 8> naming_attributes{
    "ancillary_variables", "bounds",        "cell_measures", "climatology",
    "coordinates",         "formula_terms", "grid_mapping",  "quantization"};

using ByName = std::map<std::string, std::uint32_t>;

/// The variable that `name` means in the group of `owner`: there, or in a group around it. The
/// number of variables if there is none.
std::uint32_t find_from(const ByName& variables, std::string owner, const std::string& name) {
  if (name.starts_with('/')) {
    owner.clear();
  }
  const std::string local = name.substr(name.starts_with('/') ? 1 : 0);
  while (true) {
    owner = model::group_of(owner);
    const auto found = variables.find(owner.empty() ? local : owner + "/" + local);
    if (found != variables.end() || owner.empty()) {
      return found != variables.end() ? found->second
                                      : static_cast<std::uint32_t>(variables.size());
    }
  }
}

/// The names by which a variable refers to others.
std::vector<std::string> named_by(const Input& input, const model::Definition& definition) {
  std::vector<std::string> names = definition.dimensions;
  if (definition.stepped && input.has_own_time()) {
    names.emplace_back(layout::time_name);
  }
  for (const std::size_t i : input.attributes_of(definition.name)) {
    const model::Attribute& attribute = input.attributes()[i];
    const std::string* const text = model::text_of(attribute.value);
    if (text != nullptr && std::find(naming_attributes.begin(), naming_attributes.end(),
                                     attribute.name) != naming_attributes.end()) {
      std::istringstream words(*text);
      for (std::string word; words >> word;) {
        names.push_back(word);
      }
    }
  }
  return names;
}

}  // namespace

VariableChoice::VariableChoice(const Input& input, const std::vector<std::string>& names)
    : is_all_(names.empty()) {
  if (is_all_) {
    return;
  }
  ByName variables;
  for (std::uint32_t v = 0; v < input.variables().size(); ++v) {
    variables.emplace(input.variables()[v].definition.name, v);
  }
  has_.resize(input.variables().size());
  std::vector<std::uint32_t> left;
  for (const std::string& name : names) {
    left.push_back(input.find(name));
  }
  while (!left.empty()) {
    const std::uint32_t variable = left.back();
    left.pop_back();
    if (has_[variable]) {
      continue;
    }
    has_[variable] = true;
    const model::Definition& definition = input.variables()[variable].definition;
    for (const std::string& name : named_by(input, definition)) {
      const std::uint32_t found = find_from(variables, definition.name, name);
      if (found < has_.size()) {
        left.push_back(found);
      }
    }
  }
}

}  // namespace sluice::commit
