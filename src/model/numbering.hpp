// How messages count steps, rows and elements: from 0, or from 1 for a Fortran program.
//
// Invariant: this concerns texts only. Numbers are counted from 0 everywhere else.
#pragma once

#include <cstdint>
#include <string>

#include "model/dims.hpp"

namespace sluice::model {

/// While it lives, messages that this thread makes count from `first`.
class Numbering {
 public:
  explicit Numbering(int first) noexcept;
  ~Numbering();
  Numbering(const Numbering&) = delete;
  Numbering& operator=(const Numbering&) = delete;

 private:
  const int outer_;
};

/// A step, a row or a coordinate as messages say it. What was negative before it came here, as no
/// number of that kind is, is said as it was.
std::string number_text(std::uint64_t number);
/// "(10, 3)", a place.
std::string position_text(const Dims& position);
/// The number of a variable: -1 of one that was never defined.
std::string variable_text(std::uint32_t variable);
/// Of a step that is not there: "step 7 of 3".
std::string absent_step_text(std::uint64_t step, std::uint64_t steps);

}  // namespace sluice::model
