// What a copy says of the variables that are rounded once more: the fewest digits hold, and what
// another algorithm left no longer does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "layout/format.hpp"
#include "layout/rounding.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

class RoundedAgain {
 public:
  explicit RoundedAgain(const std::vector<model::Definition>& written) {
    for (const model::Definition& definition : written) {
      if (const auto rounding = layout::rounding_of(definition)) {
        roundings_.emplace(definition.name, *rounding);
      }
    }
  }

  /// Does an attribute of the old file say how one of them was rounded? The writer says it anew.
  bool takes(const model::Attribute& attribute) {
    const auto found = roundings_.find(attribute.owner);
    if (found == roundings_.end() || !layout::is_about_rounding(attribute.name)) {
      return false;
    }
    const codec::Quantiser& quantiser = *found->second.quantiser;
    const auto kept = whole_number(attribute.value);
    if ((attribute.name == quantiser.attribute || attribute.name == quantiser.cf_attribute) &&
        kept && *kept >= 1 && *kept < found->second.kept) {
      found->second.kept = static_cast<int>(*kept);
      fewer_[attribute.owner] = found->second;
    }
    return true;
  }

  /// What replaces that which the writer says of its own rounding.
  std::vector<model::Attribute> attributes(const layout::Format& format) const {
    std::vector<model::Attribute> attributes;
    for (const auto& [variable, rounding] : fewer_) {
      const auto kept = std::int32_t{rounding.kept};
      attributes.push_back({variable, rounding.quantiser->attribute, kept});
      if (format.quantization) {
        attributes.push_back({variable, rounding.quantiser->cf_attribute, kept});
      }
    }
    return attributes;
  }

 private:
  /// Of any type, and where it is a list of one: so netCDF's programs copy a number.
  static std::optional<std::int64_t> whole_number(const model::AttributeValue& value) {
    return std::visit(
        [](const auto& held) -> std::optional<std::int64_t> {
          using Held = std::decay_t<decltype(held)>;
          if constexpr (std::is_integral_v<Held>) {
            return held;
          } else if constexpr (std::is_floating_point_v<Held> ||
                               std::is_same_v<Held, std::string>) {
            return std::nullopt;
          } else if constexpr (std::is_integral_v<typename Held::value_type>) {
            return held.size() == 1 ? std::optional<std::int64_t>(held[0]) : std::nullopt;
          } else {
            return std::nullopt;
          }
        },
        value);
  }

  std::map<std::string, codec::Rounding> roundings_;  ///< by the names in the new file
  std::map<std::string, codec::Rounding> fewer_;      ///< than the writer was asked for
};

}  // namespace sluice::commit
