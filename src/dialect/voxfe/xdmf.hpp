// XDMF descriptions by which ParaView and VTK open the netCDF-4 files of voxel models: a small text
// file beside the data.
#pragma once

#include <array>
#include <string>

#include "dialect/voxfe/model.hpp"

namespace sluice::dialect::voxfe {

/// `file`: path of the netCDF file; only its last component is used, because both are in one
/// folder. The voxels as cells, with `material`; `size`: edges along x, y, z.
std::string voxels_xdmf(const std::string& file, const Grid& grid,
                        const std::array<double, 3>& size);
/// The nodes as points at x, y, z, with the vector `displacement`.
std::string nodes_xdmf(const std::string& file, std::uint64_t nodes);

}  // namespace sluice::dialect::voxfe
