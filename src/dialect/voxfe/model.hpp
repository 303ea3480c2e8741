// VOX-FE's model text, read in parallel into a grid of voxels.
//
// The text: a line that is blank or has the size of a voxel, a line with the number of voxels, and
// a line `element material x y z` for each, coordinates counted from 1, usually by ascending z.
//
// Invariants: every rank reads and parses its own range of bytes, in pieces of a bounded size, once
// to scan and once to load; what the text says of itself (count, coordinates, materials) is
// checked, and errors name the line; the second time again, because another program may change the
// file meanwhile; ranks hold whole planes, in order, on disk beyond a limit.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dialect/voxfe/lines.hpp"
#include "exec/transport/transport.hpp"
#include "storage/spill.hpp"
#include "storage/storage.hpp"

namespace sluice::dialect::voxfe {

/// Voxels in x, y, z.
using Grid = std::array<std::uint64_t, 3>;

/// Of a grid, along one axis.
inline constexpr std::uint64_t largest_extent = 1 << 20;

/// Why the numbers `element material x y z` make no line of a model; "" if they do.
std::string fault_of(const std::array<std::uint64_t, 5>& numbers);

/// A line of the text: coordinates from 1.
struct ModelRow {
  std::uint64_t element = 0;
  std::uint8_t material = 0;
  std::array<std::uint32_t, 3> at{};
};

/// The planes [first, first + count) of z, `materials()[(z - first) * y * x + ...]`, 0: empty.
struct Planes {
  Grid grid{};
  std::uint64_t voxels = 0;  ///< of the whole model
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  storage::Spill cells;
  std::string voxel_size;  ///< the first line, "" where it is blank

  std::span<std::uint8_t> materials() {
    return {reinterpret_cast<std::uint8_t*>(cells.bytes().data()), cells.bytes().size()};
  }
};

/// The columns of a rank's own lines, in the text's order.
struct ModelColumns {
  std::span<std::int64_t> element;
  std::span<std::uint8_t> material;
  std::array<std::span<std::int32_t>, 3> at;
};

/// Folder for what does not fit into memory.
struct SpillPlace {
  std::uint64_t limit_bytes = 256ULL << 20;
  std::string folder = {};
};

class Model {
 public:
  /// Collective: scans the whole text. `grid` of zeros: as large as the largest coordinates. Error
  /// format (with the line). transport and storage must outlive it.
  Model(exec::Transport& transport, storage::Storage& storage, const std::string& path,
        Grid grid = {});

  const Grid& grid() const noexcept { return grid_; }
  std::uint64_t voxels() const noexcept { return voxels_; }
  /// This rank's lines: [first_row, first_row + rows) of all.
  std::uint64_t first_row() const noexcept { return first_row_; }
  std::uint64_t rows() const noexcept { return rows_; }
  /// Are elements numbered 1, 2, … and voxels in the order of z, y, x? Then the grid contains
  /// everything.
  bool in_order() const noexcept { return in_order_; }
  const std::string& voxel_size() const noexcept { return voxel_size_; }

  /// Collective. Error overlap: two voxels at one place; changed_outside: the text has other lines
  /// than when it was scanned.
  Planes read_planes(const SpillPlace& place);
  /// Local. The spans have rows() entries. Error changed_outside.
  void read_columns(const ModelColumns& columns);

 private:
  struct Scan;
  void open(storage::Storage& storage);
  Scan scan_own(const Grid& limits);
  void settle(const Scan& scan);
  ModelRow parse(std::string_view line, std::uint64_t place);
  void require_rows(std::uint64_t rows) const;

  exec::Transport& transport_;
  std::string path_;
  std::unique_ptr<storage::File> file_;
  ByteRange range_;
  Grid grid_;
  std::uint64_t voxels_ = 0;
  std::uint64_t first_row_ = 0;
  std::uint64_t rows_ = 0;
  bool in_order_ = false;
  std::string voxel_size_;
};

/// `element material x y z` and the line's end, appended.
void append_row(std::string& text, const ModelRow& row);

}  // namespace sluice::dialect::voxfe
