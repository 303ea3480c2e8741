#include "layout/stored_variable.hpp"

#include <map>

namespace sluice::layout {

void show_owners(const std::vector<StoredVariable>& variables,
                 std::vector<model::Attribute>& attributes) {
  std::map<std::string, std::string> shown;
  for (const StoredVariable& variable : variables) {
    if (!variable.shown_as.empty()) {
      shown[variable.definition.name] = variable.shown_as;
    }
  }
  for (model::Attribute& attribute : attributes) {
    const auto found = shown.find(attribute.owner);
    attribute.owner = found == shown.end() ? attribute.owner : found->second;
  }
}

}  // namespace sluice::layout
