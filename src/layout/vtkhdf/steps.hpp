// The counts and offsets by which VTK finds the parts of a step: pure functions of the arrays of
// the step.
//
// An array with steps has a range of `slot` rows for each step, of which the first ones are used.
// So where a step begins is arithmetic, and committed chunks are never shared with a later step.
// VTK takes offsets of steps for every array but one: the offsets of the cells of an unstructured
// grid begin where its cells begin, moved by the parts before. That holds where the offsets' slot
// is larger than that of the types: the parts of a step get what is between.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/vtkhdf/rules.hpp"

namespace sluice::layout::vtkhdf {

/// An array as a step has it.
struct Array {
  std::string name;        ///< below VTKHDF
  bool stepped = false;    ///< else it is the same in every step
  bool touched = false;    ///< fixed ones: there is something in it
  std::uint64_t slot = 0;  ///< rows between steps
  std::uint64_t rows = 0;  ///< of this step
  /// By part, where ranks joined them; empty: one part.
  std::vector<std::uint64_t> parts = {};

  std::vector<std::uint64_t> counts() const {
    return parts.empty() ? std::vector<std::uint64_t>{rows} : parts;
  }
};

/// What the file has of the steps before.
struct Before {
  std::uint64_t step = 0;    ///< so many
  std::uint64_t parts = 0;   ///< counts of parts that there are
  std::uint64_t points = 0;  ///< of the first part
};

/// Numbers that the library writes: from element `first` on of a dataset that grows.
struct Numbers {
  std::string path;
  std::uint64_t first = 0;
  std::vector<std::int64_t> values;
  std::uint64_t columns = 0;  ///< of one row; 0: a list
  bool bytes = false;         ///< of bytes, and none of them
  bool is_zeros = false;      ///< zeros, of which there may be more already
};

/// What a step adds; Error invalid_argument where its arrays do not belong together.
std::vector<Numbers> numbers_of_step(Kind kind, const std::vector<Array>& arrays,
                                     const Before& before);

/// The rows between steps of an array of at most `most` rows in tiles of `tile` rows: more than
/// `most`, and at least `least`.
std::uint64_t slot_of(std::uint64_t most, std::uint64_t tile, std::uint64_t least = 0);

}  // namespace sluice::layout::vtkhdf
