#include "commit/tools/growing.hpp"

#include <algorithm>
#include <set>

namespace sluice::commit {

namespace {

constexpr std::size_t most_named = 10;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most_named; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  const std::size_t more = names.size() - std::min(names.size(), most_named);
  return text + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

}  // namespace

std::vector<std::string> no_longer_growing(const std::vector<layout::Growing>& growing,
                                           const std::vector<model::Definition>& written) {
  std::set<std::string> dimensions;
  std::set<std::string> variables;
  for (const layout::Growing& one : growing) {
    (one.is_dimension ? dimensions : variables).insert(one.name);
  }
  std::set<std::string> met;
  std::vector<std::string> resized;
  for (const model::Definition& d : written) {
    bool has_such = false;
    for (const std::string& name : d.dimensions) {
      if (dimensions.count(name) != 0) {
        met.insert(name);
        has_such = true;
      }
    }
    if (!has_such && variables.count(d.name) != 0) {
      resized.push_back(d.name);
    }
  }
  std::vector<std::string> said;
  for (const std::string& name : met) {
    said.push_back(name + ": an unlimited dimension: its length is now fixed");
  }
  if (!resized.empty()) {
    said.push_back(listed(resized) + ": could be resized: the shape is now fixed");
  }
  return said;
}

}  // namespace sluice::commit
