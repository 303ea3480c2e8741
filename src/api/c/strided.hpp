// Memory with a stride in bytes between elements, and the selections of the C interface.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "api/c/c_api_handle.hpp"
#include "model/box.hpp"

namespace sluice::c_api {

/// The same numbers as dims_of(), for a position: one before the first element is reported in the
/// numbering of the program.
template <class What>
model::Dims position_of(int rank, const std::int64_t* start, What&& what) {
  if (rank > 0 && rank <= model::max_rank && start != nullptr &&
      std::any_of(start, start + rank, [](std::int64_t n) { return n < 0; })) {
    model::Dims place;
    for (int d = 0; d < rank; ++d) {
      place.push_back(static_cast<std::uint64_t>(start[d]));
    }
    throw Error(Code::invalid_argument, what() + ": start " + model::position_text(place) +
                                            ": is before the first element");
  }
  return dims_of(rank, start, [&] { return what() + ": start"; });
}

/// The box of a selection in a variable of `shape`, which has `rank` dimensions. `what()` is the
/// prefix of messages.
template <class What>
model::Box selected_box(int rank, const sluice_selection& selection, const model::Dims& shape,
                        What&& what) {
  model::Box box;
  box.start = selection.start == nullptr ? model::Dims::filled(rank, 0)
                                         : position_of(rank, selection.start, what);
  if (selection.count != nullptr) {
    box.count = dims_of(rank, selection.count, [&] { return what() + ": count"; });
    return box;
  }
  for (int d = 0; d < rank; ++d) {
    box.count.push_back(shape[d] - std::min(shape[d], box.start[d]));
  }
  return box;
}

/// Copies the elements of `count` from strided memory into dense row-major memory. `from` is the
/// first element; stride_bytes has one number, possibly negative, for each dimension.
void gather_strided(const std::byte* from, const std::int64_t* stride_bytes,
                    const model::Dims& count, std::size_t element_bytes, std::byte* to);
/// The reverse.
void scatter_strided(const std::byte* from, const model::Dims& count, std::size_t element_bytes,
                     std::byte* to, const std::int64_t* stride_bytes);

}  // namespace sluice::c_api
