// VOX-FE's model text, read in parallel into a grid of voxels.
//
// The text: a line that is blank or holds the size of a voxel, a line with the number of voxels,
// and a line `element material x y z` for each, coordinates counted from 1, usually by ascending z.
//
// Invariants: every rank reads and parses its own range of bytes, in pieces of a bounded size; what
// the text says of itself (count, coordinates, materials) is checked, and errors name the line's
// place in the file; ranks hold whole planes, in order.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "exec/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::dialect::voxfe {

/// Voxels in x, y, z.
using Grid = std::array<std::uint64_t, 3>;

/// The planes [first, first + count) of z, `materials[(z - first) * y * x + ...]`, 0: empty.
struct Planes {
  Grid grid{};
  std::uint64_t voxels = 0;  ///< of the whole model
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::vector<std::uint8_t> materials;
  std::string voxel_size;  ///< the first line, "" where it is blank
};

/// Collective. `grid` of zeros: as large as the largest coordinates. Errors format (with the
/// place), out_of_bounds (a voxel outside `grid`), overlap (two voxels at one place).
Planes read_model(exec::Transport& transport, storage::Storage& storage, const std::string& path,
                  Grid grid = {});

}  // namespace sluice::dialect::voxfe
