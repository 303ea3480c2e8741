// Which variables of a file become variables of another: all of them, or some with their
// coordinates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commit/read/input.hpp"

namespace sluice::commit {

class VariableChoice {
 public:
  /// `names`; none: all variables. With each come the variables that have the names of its
  /// dimensions, and those that its attributes name as part of its meaning (CF conventions,
  /// appendix A: `bounds`, `coordinates`, `grid_mapping`, ...). Error not_found.
  VariableChoice(const Input& input, const std::vector<std::string>& names);

  bool is_all() const noexcept { return is_all_; }
  bool has(std::uint32_t variable) const { return is_all_ || has_[variable]; }

 private:
  bool is_all_;
  std::vector<bool> has_;  ///< by variable; empty if all
};

}  // namespace sluice::commit
