// How messages count steps, rows and elements: from 0, or from 1 for a Fortran program.
//
// Invariant: this concerns messages only. Numbers are counted from 0 everywhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/dims.hpp"

namespace sluice::model {

/// During its lifetime, messages made by this thread count from `first`.
class Numbering {
 public:
  explicit Numbering(int first) noexcept;
  ~Numbering();
  Numbering(const Numbering&) = delete;
  Numbering& operator=(const Numbering&) = delete;

 private:
  const int outer_;
};

/// A step, a row or a coordinate as messages show it. Negative numbers, which are not valid numbers
/// of that kind, are shown unchanged.
std::string number_text(std::uint64_t number);
/// A position: "(10, 3)".
std::string position_text(const Dims& position);
/// The number of a variable: -1 for one that was never defined.
std::string variable_text(std::uint32_t variable);
/// A dimension of `rank`, the fastest of which is the last one. A program that counts from 1 has
/// the fastest first.
std::string dimension_text(std::ptrdiff_t dimension, int rank);
/// A step or a record group that was asked for and does not exist. As -1 asks for the newest or the
/// next one, a program that counts from 1 asks for 0 by -2, for -1 by -3.
std::string absent_text(std::uint64_t number);
/// For a step that does not exist: "step 7 of 3".
std::string absent_step_text(std::uint64_t step, std::uint64_t steps);

}  // namespace sluice::model
