#include "voxels.hpp"

#include <algorithm>
#include <numeric>

namespace parabmu {

int Distribution::owner(std::uint64_t plane) const {
  const auto above = std::upper_bound(starts.begin(), starts.end(), plane);
  return static_cast<int>(above - starts.begin()) - 1;
}

Distribution balanced(const std::vector<std::uint64_t>& per_plane, int ranks) {
  const std::uint64_t planes = per_plane.size();
  const std::uint64_t total = std::accumulate(per_plane.begin(), per_plane.end(), std::uint64_t{0});
  Distribution result;
  result.starts.assign(static_cast<std::size_t>(ranks) + 1, planes);
  result.starts[0] = 0;
  std::uint64_t below = 0;
  std::uint64_t plane = 0;
  for (int rank = 1; rank < ranks; ++rank) {
    const std::uint64_t wanted = total * static_cast<std::uint64_t>(rank);
    const auto share = static_cast<std::uint64_t>(ranks);
    // A plane goes where its middle lies.
    while (plane < planes && (2 * below + per_plane[plane]) * share <= 2 * wanted) {
      below += per_plane[plane++];
    }
    result.starts[static_cast<std::size_t>(rank)] = plane;
  }
  return result;
}

std::vector<std::uint64_t> count_planes(MPI_Comm comm, const Grid& grid, std::uint64_t first,
                                        std::span<const std::uint8_t> own) {
  const std::uint64_t size = grid[0] * grid[1];
  std::vector<std::uint64_t> counts(grid[2]);
  for (std::uint64_t at = 0; at * size < own.size(); ++at) {
    const auto* const cells = own.data() + at * size;
    counts[first + at] =
        size - static_cast<std::uint64_t>(std::count(cells, cells + size, std::uint8_t{0}));
  }
  MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(counts.size()), MPI_UINT64_T, MPI_SUM,
                comm);
  return counts;
}

void fetch_halo(MPI_Comm comm, Voxels& voxels, std::vector<std::uint8_t> own) {
  const int rank = rank_of(comm);
  const Distribution& planes = voxels.planes;
  const auto size = static_cast<int>(voxels.plane_size());
  const std::uint64_t begin = planes.begin(rank);
  const std::uint64_t end = planes.end(rank);
  MPI_Request request = MPI_REQUEST_NULL;
  // Whoever owns plane `end` wants my top plane.
  if (begin != end && end < voxels.grid[2]) {
    MPI_Isend(own.data() + own.size() - voxels.plane_size(), size, MPI_BYTE, planes.owner(end), 2,
              comm, &request);
  }
  const bool has_halo = begin != end && begin != 0;
  voxels.first = has_halo ? begin - 1 : begin;
  voxels.count = end - voxels.first;
  if (begin == end) {
    voxels.count = 0;
  }
  voxels.materials.clear();
  if (has_halo) {
    voxels.materials.resize(voxels.plane_size());
    MPI_Recv(voxels.materials.data(), size, MPI_BYTE, planes.owner(begin - 1), 2, comm,
             MPI_STATUS_IGNORE);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (has_halo) {
    voxels.materials.insert(voxels.materials.end(), own.begin(), own.end());
  } else {
    voxels.materials = std::move(own);
  }
}

std::string grid_text(const Grid& grid) {
  return std::to_string(grid[0]) + " x " + std::to_string(grid[1]) + " x " +
         std::to_string(grid[2]);
}

}  // namespace parabmu
