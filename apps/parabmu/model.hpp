// Reading a model: as text through one rank, or as netCDF through all of them.
#pragma once

#include <string>

#include "materials.hpp"
#include "voxels.hpp"

namespace parabmu {

/// Rank 0 reads the text (a blank line, a count, lines `element material x y z` from 1), and sends
/// planes such that voxels are balanced. Errors format with `path:line`. Collective.
Voxels load_text(MPI_Comm comm, const std::string& path, const Grid& grid,
                 const Materials& materials);

/// Every rank reads its part of the netCDF file: planes of the grid `material(z, y, x)`, or where
/// there is none its N/P records, of which partial planes go to the rank above. `balance`: planes
/// are then read, or sent, such that voxels are balanced; else they stay where they were read.
/// Collective.
Voxels load_parallel(MPI_Comm comm, const std::string& path, const Grid& grid,
                     const Materials& materials, bool balance);

/// Error format where a voxel's material is none of `materials`. `path`: of the model. Local.
void check_cells(const std::string& path, const Voxels& voxels, const Materials& materials);

}  // namespace parabmu
