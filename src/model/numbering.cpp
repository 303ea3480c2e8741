#include "model/numbering.hpp"

#include <utility>

namespace sluice::model {

namespace {

thread_local int first_number = 0;

}  // namespace

Numbering::Numbering(int first) noexcept : outer_(std::exchange(first_number, first)) {}
Numbering::~Numbering() { first_number = outer_; }

std::string number_text(std::uint64_t number) {
  return std::to_string(static_cast<std::int64_t>(number) + first_number);
}

std::string position_text(const Dims& position) {
  std::string out;
  for (const std::uint64_t number : position) {
    out += (out.empty() ? "(" : ", ") + number_text(number);
  }
  return out.empty() ? "()" : out + ")";
}

std::string variable_text(std::uint32_t variable) {
  return std::to_string(static_cast<std::int32_t>(variable) + first_number);
}

std::string dimension_text(std::ptrdiff_t dimension, int rank) {
  return std::to_string(first_number == 0 ? dimension : rank - dimension);
}

std::string absent_text(std::uint64_t number) {
  const bool is_below = static_cast<std::int64_t>(number) < 0;
  return number_text(is_below ? number + static_cast<std::uint64_t>(first_number) : number);
}

std::string absent_step_text(std::uint64_t step, std::uint64_t steps) {
  constexpr auto last_of_none = ~std::uint64_t{0};
  return steps == 0 && step == last_of_none
             ? "there is no step yet"
             : "step " + absent_text(step) + " of " + std::to_string(steps);
}

}  // namespace sluice::model
