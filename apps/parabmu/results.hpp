// Writing displacements: as text by one rank after the other, or as netCDF or VTKHDF by all at the
// same time.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "mesh.hpp"

namespace parabmu {

struct Results {
  const Mesh& mesh;
  const std::vector<double>& displacements;  ///< 3 an own node, more is ignored
  std::array<double, 3> voxel_size{};
  std::string materials_file;  ///< as the script names it
};

/// Lines `id x y z dx dy dz` after a head of three; every rank writes at the place that the rank
/// below has passed on. Collective.
void print_text(MPI_Comm comm, const std::string& path, const Results& results);

/// Variables node_id, x, y, z, displacement; `path` with .xdmf added describes them to ParaView.
/// `codec` ("deflate:1", "none") is that of the displacements: their 53 bits are mostly noise, of
/// which no codec saves much. The others are always deflated. Collective.
void print_parallel(MPI_Comm comm, const std::string& path, const Results& results,
                    const std::string& codec);

/// The voxels as an unstructured grid with the displacements of their nodes, for ParaView; each
/// rank is a part. `step`: 0 makes the file; others are added to it. Collective.
void print_vtkhdf(MPI_Comm comm, const std::string& path, const Results& results,
                  const Voxels& voxels, std::uint64_t step, const std::string& codec);

}  // namespace parabmu
