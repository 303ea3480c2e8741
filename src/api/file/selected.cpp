#include "api/file/selected.hpp"

#include <algorithm>

namespace sluice::detail {

using model::Box;
using model::Dims;

Box box_of(const Selection& selection, const Dims& shape, const Size& size) {
  Box box;
  box.start = selection.start.empty() ? Dims::filled(shape.rank(), 0) : dims_of(selection.start);
  if (!selection.count.empty()) {
    box.count = dims_of(selection.count);
  } else if (size && shape.rank() == 1 && selection.start.size() == 1 &&
             selection.memory_shape.empty()) {
    box.count = {*size};
  } else if (box.start.rank() == shape.rank()) {
    for (int d = 0; d < shape.rank(); ++d) {
      box.count.push_back(shape[d] - std::min(shape[d], box.start[d]));
    }
  }
  return box;
}

void require_size(const std::string& what, const Selection& selection, const Dims& count,
                  const Size& size) {
  const bool is_shaped = !selection.memory_shape.empty();
  const Dims wanted = is_shaped ? dims_of(selection.memory_shape) : count;
  if (size && *size != wanted.volume()) {
    throw Error(Code::invalid_argument,
                what + ": the memory has " + std::to_string(*size) + " elements, but " +
                    (is_shaped ? "memory_shape " : "the part has count ") + wanted.text() +
                    ", which are " + std::to_string(wanted.volume()) +
                    (is_shaped || !selection.count.empty() ? "" : ": give the count"));
  }
}

namespace {

/// Elements of a row; of a scalar, which has none, 1.
std::uint64_t row_elements(const Dims& shape) {
  return shape.empty() ? 1 : shape.without_front().volume();
}

}  // namespace

void require_row_size(const std::string& what, std::uint64_t rows, const Dims& shape,
                      const Size& size) {
  const std::uint64_t row = row_elements(shape);
  if (size && *size != model::checked_product(rows, row, "the rows")) {
    throw Error(Code::invalid_argument, what + ": the memory has " + std::to_string(*size) +
                                            " elements, but " + std::to_string(rows) +
                                            " rows have " + std::to_string(row) + " each");
  }
}

std::uint64_t rows_in(const std::string& what, const Dims& shape, std::uint64_t size) {
  const std::uint64_t row = row_elements(shape);
  if (row == 0 ? size != 0 : size % row != 0) {
    throw Error(Code::invalid_argument, what + ": the memory has " + std::to_string(size) +
                                            " elements, which are no whole rows of " +
                                            std::to_string(row));
  }
  return row == 0 ? 0 : size / row;
}

}  // namespace sluice::detail
