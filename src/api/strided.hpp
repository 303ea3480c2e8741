// Memory whose elements lie a number of bytes apart, and what a selection of the C interface means.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "api/c_api_handle.hpp"
#include "model/box.hpp"

namespace sluice::c_api {

/// The box that a selection means in a variable of `shape`, which has `rank` dimensions. `what()`
/// stands before messages.
template <class What>
model::Box selected_box(int rank, const sluice_selection& selection, const model::Dims& shape,
                        What&& what) {
  model::Box box;
  box.start = selection.start == nullptr
                  ? model::Dims::filled(rank, 0)
                  : dims_of(rank, selection.start, [&] { return what() + ": start"; });
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
/// first element; stride_bytes has one number, perhaps negative, for each dimension.
void gather_strided(const std::byte* from, const std::int64_t* stride_bytes,
                    const model::Dims& count, std::size_t element_bytes, std::byte* to);
/// The reverse.
void scatter_strided(const std::byte* from, const model::Dims& count, std::size_t element_bytes,
                     std::byte* to, const std::int64_t* stride_bytes);

}  // namespace sluice::c_api
