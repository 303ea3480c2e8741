// The steps and elements that the user selected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commit/tools/step_choice.hpp"
#include "model/box.hpp"

namespace sluice::cli {

/// A half-open range of indices.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

/// "a:b", "a:", ":b" or ":" as in Python: b is not included, negative numbers count from the end.
/// Error invalid_argument naming `option` if it is not a range, out_of_bounds if it is not within 0
/// .. size.
Range parse_range(const std::string& text, std::uint64_t size, const std::string& option);

/// "a:b" or "a:b:k", of which each may be left out, for a file whose steps are not yet known. Error
/// invalid_argument naming `option` if it is not such a range, or k is not positive.
commit::StepRange parse_steps(const std::string& text, const std::string& option);

/// One index; negative ones count from the end.
std::uint64_t parse_index(std::int64_t index, std::uint64_t size, const std::string& option);

/// "3,0,7". Error invalid_argument naming `option` and the required rank.
model::Dims parse_list(const std::string& text, int rank, const std::string& option);

struct BoxRequest {
  std::string start;  ///< "i,j", empty: zeros
  std::string count;  ///< "n,m", empty: up to the end
  std::string rows;   ///< "a:b" of the first dimension, instead of both
};

/// The selected box in a variable of `shape`.
model::Box parse_box(const BoxRequest& request, const model::Dims& shape);

}  // namespace sluice::cli
