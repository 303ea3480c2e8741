// The voxels of one rank: whole planes of z, and how planes are shared out.
//
// Invariants: element plane e lies between the node planes e and e + 1. A rank that owns the
// element planes [begin, end) owns the node planes [begin, end), the last such rank also the top
// one, and holds the element plane below its own as a halo. Ranks without planes are beyond the
// others or between them; they take part in everything that is collective.
#pragma once

#include <array>
#include <cstdint>
#include <mpi.h>
#include <span>
#include <string>
#include <vector>

#include "comm.hpp"

namespace parabmu {

using Grid = std::array<std::uint64_t, 3>;  ///< voxels along x, y, z

/// Element planes of every rank: rank r owns [starts[r], starts[r + 1]).
struct Distribution {
  std::vector<std::uint64_t> starts;

  std::uint64_t begin(int rank) const { return starts[static_cast<std::size_t>(rank)]; }
  std::uint64_t end(int rank) const { return starts[static_cast<std::size_t>(rank) + 1]; }
  bool empty(int rank) const { return begin(rank) == end(rank); }
  int ranks() const { return static_cast<int>(starts.size()) - 1; }
  /// The rank that owns an element plane.
  int owner(std::uint64_t plane) const;
};

/// Contiguous planes such that every rank has about the same number of voxels. `per_plane`: voxels
/// of every plane, the same on all ranks. Pure.
Distribution balanced(const std::vector<std::uint64_t>& per_plane, int ranks);

struct Voxels {
  Grid grid{};
  std::uint64_t total = 0;  ///< voxels of the whole model
  Distribution planes;
  std::uint64_t first = 0;              ///< lowest element plane held: the halo, where there is one
  std::uint64_t count = 0;              ///< element planes held
  std::vector<std::uint8_t> materials;  ///< count x Y x X, 0: empty

  std::uint64_t plane_size() const { return grid[0] * grid[1]; }
  const std::uint8_t* plane(std::uint64_t z) const {
    return materials.data() + (z - first) * plane_size();
  }
};

/// Voxels in each plane of a rank's own [first, first + n), summed over all ranks: one entry a
/// plane.
std::vector<std::uint64_t> count_planes(MPI_Comm comm, const Grid& grid, std::uint64_t first,
                                        std::span<const std::uint8_t> own);

/// Takes own planes (no halo) to a rank of `voxels`, then fetches the halo plane from the rank
/// below. Collective.
void fetch_halo(MPI_Comm comm, Voxels& voxels, std::vector<std::uint8_t> own);

/// "148 x 148 x 48"
std::string grid_text(const Grid& grid);

}  // namespace parabmu
