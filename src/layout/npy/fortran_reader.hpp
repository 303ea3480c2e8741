// An array in Fortran order, whose first dimension is the fastest in the file, as boxes in C order.
//
// Invariants: what is kept between two calls has at most most_kept_bytes. It is read ahead only
// where a box follows on the one before, as those do in which a large array is read: each of them
// has few elements of every column of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/npy/header.hpp"
#include "model/box.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::npy {

class FortranReader {
 public:
  static constexpr std::uint64_t most_kept_bytes = 64ULL << 20;

  /// `file` must outlive the object. `shape` has at least two dimensions.
  FortranReader(storage::File& file, const Header& header, const model::Dims& shape);
  /// Dense and little-endian. Error truncated.
  void read(const model::Box& box, std::span<std::byte> out);

 private:
  void fetch(const model::Box& box, std::span<std::byte> out);
  void fetch_tile(const model::Box& box, const model::Box& tile, bool is_joined,
                  std::span<std::byte> out);
  void read_at(const model::Dims& at, std::span<std::byte> into);
  bool follows(const model::Box& box) const;
  model::Box with_rows_ahead(const model::Box& box) const;

  storage::File& file_;
  const Header header_;
  const model::Dims shape_;
  const std::size_t size_;  ///< of an element
  model::Box last_;         ///< that was asked for
  model::Box kept_;
  std::vector<std::byte> kept_bytes_;  ///< of kept_
  std::vector<std::byte> columns_;     ///< of a tile, while it is transposed
};

}  // namespace sluice::layout::npy
