// What a conversion into a format of one variable asks for.
#pragma once

#include <string>
#include <vector>

#include "layout/format.hpp"
#include "model/definition.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

/// Error unsupported if `format` holds one variable and `from` has several: which of them is meant
/// nobody said.
inline void require_one(const layout::Format& format,
                        const std::vector<model::Definition>& definitions,
                        const std::string& from) {
  constexpr std::size_t most_named = 5;
  if (format.many || definitions.size() < 2) {
    return;
  }
  std::string names;
  for (std::size_t i = 0; i < definitions.size() && i < most_named; ++i) {
    names += (i == 0 ? "" : ", ") + definitions[i].name;
  }
  throw Error(Code::unsupported,
              from + ": has " + std::to_string(definitions.size()) + " variables (" + names +
                  (definitions.size() > most_named ? ", ..." : "") + "), and format " +
                  format.name + " holds one: none of them is chosen, " + format.instead);
}

}  // namespace sluice::commit
