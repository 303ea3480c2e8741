// The names of a file's variables in the file itself: which are further names of another one, and
// which differ from those that programs show.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "layout/catalog.hpp"
#include "model/bytes.hpp"
#include "model/name.hpp"

namespace sluice::commit {

class SourceNames {
 public:
  SourceNames() = default;
  /// Of what put() wrote on the rank with the catalog.
  explicit SourceNames(model::ByteReader& in) : is_further_(in.get_vector<std::uint32_t>()) {
    for (auto count = in.get<std::uint64_t>(); count != 0; --count) {
      std::string shown = in.get_string();
      stored_[std::move(shown)] = in.get_string();
    }
  }
  static void put(const layout::Catalog& catalog, model::ByteWriter& out) {
    std::vector<std::uint32_t> is_further;
    std::map<std::string, std::string> stored;
    for (const layout::StoredVariable& variable : catalog.variables()) {
      is_further.push_back(variable.same_as.empty() ? 0 : 1);
      if (!variable.shown_as.empty()) {
        stored[variable.shown_as] = variable.definition.name;
      }
    }
    out.put(is_further);
    out.put(static_cast<std::uint64_t>(stored.size()));
    for (const auto& [shown, name] : stored) {
      out.put(shown);
      out.put(name);
    }
  }

  /// May a file of Sluice have all names of the catalog?
  static bool are_valid(layout::Catalog& catalog) {
    const auto& variables = catalog.variables();
    const auto attributes = catalog.attributes();
    return std::all_of(variables.begin(), variables.end(),
                       [](const auto& v) { return model::is_name(v.definition.name); }) &&
           std::all_of(attributes.begin(), attributes.end(), [](const auto& attribute) {
             return attribute.owner.empty() || model::is_name(attribute.owner);
           });
  }

  /// Is the variable a further name of another one?
  bool is_further(std::uint32_t variable) const { return is_further_.at(variable) != 0; }
  /// The name in the file of what is shown as `name`.
  const std::string& stored(const std::string& name) const {
    const auto found = stored_.find(name);
    return found == stored_.end() ? name : found->second;
  }

 private:
  std::vector<std::uint32_t> is_further_;
  std::map<std::string, std::string> stored_;
};

}  // namespace sluice::commit
