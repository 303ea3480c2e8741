// The outcomes of calls that may fail.
#pragma once

#include <sluice/error.hpp>
#include <string>
#include <vector>

namespace sluice::test {

/// For the collective calls of each rank: "" or the error.
using Outcomes = std::vector<std::vector<std::string>>;

/// Records the outcome of `call`; true if it threw nothing.
template <class Call>
bool attempt(std::vector<std::string>& outcomes, Call&& call) {
  try {
    call();
    outcomes.emplace_back();
    return true;
  } catch (const Error& e) {
    outcomes.emplace_back(std::string(code_name(e.code())) + ": " + e.what());
    return false;
  }
}

}  // namespace sluice::test
