#include "api/c/strided.hpp"

#include <cstring>

namespace sluice::c_api {

using model::Dims;

namespace {

/// Calls `row(dense, strided)` with the offsets of the first element of every row.
template <class Row>
void each_row(const Dims& count, const std::int64_t* stride_bytes, std::size_t element_bytes,
              Row&& row) {
  if (count.volume() == 0) {
    return;
  }
  const int last = count.rank() - 1;
  Dims at = Dims::filled(count.rank(), 0);
  std::size_t dense = 0;
  std::ptrdiff_t strided = 0;
  while (true) {
    row(dense, strided);
    dense += static_cast<std::size_t>(last < 0 ? 1 : count[last]) * element_bytes;
    int d = last - 1;
    for (; d >= 0; --d) {
      strided += stride_bytes[d];
      if (++at[d] < count[d]) {
        break;
      }
      strided -= stride_bytes[d] * static_cast<std::ptrdiff_t>(count[d]);
      at[d] = 0;
    }
    if (d < 0) {
      return;
    }
  }
}

template <std::size_t bytes>
void copy_elements(const std::byte* from, std::ptrdiff_t from_step, std::byte* to,
                   std::ptrdiff_t to_step, std::uint64_t elements) {
  for (std::uint64_t i = 0; i < elements; ++i, from += from_step, to += to_step) {
    std::memcpy(to, from, bytes);
  }
}

void copy_row(const std::byte* from, std::ptrdiff_t from_step, std::byte* to,
              std::ptrdiff_t to_step, std::uint64_t elements, std::size_t bytes) {
  const auto dense = static_cast<std::ptrdiff_t>(bytes);
  if (from_step == dense && to_step == dense) {
    std::memcpy(to, from, elements * bytes);
  } else if (bytes == sizeof(double)) {
    copy_elements<sizeof(double)>(from, from_step, to, to_step, elements);
  } else if (bytes == sizeof(float)) {
    copy_elements<sizeof(float)>(from, from_step, to, to_step, elements);
  } else {
    for (std::uint64_t i = 0; i < elements; ++i, from += from_step, to += to_step) {
      std::memcpy(to, from, bytes);
    }
  }
}

}  // namespace

void gather_strided(const std::byte* from, const std::int64_t* stride_bytes, const Dims& count,
                    std::size_t element_bytes, std::byte* to) {
  const int rank = count.rank();
  const std::uint64_t elements = rank == 0 ? 1 : count[rank - 1];
  const auto dense_step = static_cast<std::ptrdiff_t>(element_bytes);
  const std::ptrdiff_t step = rank == 0 ? dense_step : stride_bytes[rank - 1];
  each_row(count, stride_bytes, element_bytes, [&](std::size_t dense, std::ptrdiff_t strided) {
    copy_row(from + strided, step, to + dense, dense_step, elements, element_bytes);
  });
}

void scatter_strided(const std::byte* from, const Dims& count, std::size_t element_bytes,
                     std::byte* to, const std::int64_t* stride_bytes) {
  const int rank = count.rank();
  const std::uint64_t elements = rank == 0 ? 1 : count[rank - 1];
  const auto dense_step = static_cast<std::ptrdiff_t>(element_bytes);
  const std::ptrdiff_t step = rank == 0 ? dense_step : stride_bytes[rank - 1];
  each_row(count, stride_bytes, element_bytes, [&](std::size_t dense, std::ptrdiff_t strided) {
    copy_row(from + dense, dense_step, to + strided, step, elements, element_bytes);
  });
}

}  // namespace sluice::c_api
