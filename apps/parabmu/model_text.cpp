// The serial method: everything passes through rank 0.
#include <numeric>

#include "model.hpp"
#include "text.hpp"

namespace parabmu {
namespace {

void place(const LineReader& reader, const std::uint64_t* row, const Grid& grid,
           const Materials& materials, std::vector<std::uint8_t>& cells) {
  if (row[1] < 1 || row[1] > 255 || !materials[row[1]]) {
    reader.refuse("material " + std::to_string(row[1]) + " is not in the materials file");
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (row[2 + axis] < 1 || row[2 + axis] > grid[axis]) {
      reader.refuse("the voxel " + std::to_string(row[2]) + " " + std::to_string(row[3]) + " " +
                    std::to_string(row[4]) + " lies outside the grid " + grid_text(grid));
    }
  }
  std::uint8_t& cell = cells[((row[4] - 1) * grid[1] + row[3] - 1) * grid[0] + row[2] - 1];
  if (cell != 0) {
    reader.refuse("a second voxel at " + std::to_string(row[2]) + " " + std::to_string(row[3]) +
                  " " + std::to_string(row[4]));
  }
  cell = static_cast<std::uint8_t>(row[1]);
}

std::vector<std::uint8_t> read_cells(const std::string& path, const Grid& grid,
                                     const Materials& materials) {
  LineReader reader(path);
  std::string_view line;
  std::uint64_t expected = 0;
  reader.next(line);
  if (!reader.next(line) || !parse_whole(line, &expected, 1)) {
    reader.refuse("the second line must be the number of voxels");
  }
  std::vector<std::uint8_t> cells(grid[0] * grid[1] * grid[2]);
  std::uint64_t count = 0;
  while (reader.next(line)) {
    std::uint64_t row[5];
    if (!parse_whole(line, row, 5)) {
      if (words_of(line).empty()) {
        continue;
      }
      reader.refuse("not a voxel `element material x y z`");
    }
    if (++count > expected) {
      reader.refuse("more voxels than the " + std::to_string(expected) + " of line 2");
    }
    place(reader, row, grid, materials, cells);
  }
  if (count != expected) {
    reader.refuse("the file ends after " + std::to_string(count) + " voxels; line 2 says " +
                  std::to_string(expected));
  }
  return cells;
}

/// Sends every rank its planes.
std::vector<std::uint8_t> scatter(MPI_Comm comm, const std::vector<std::uint8_t>& cells,
                                  const Distribution& planes, std::uint64_t plane_size) {
  const auto ranks = static_cast<std::size_t>(size_of(comm));
  std::vector<std::vector<std::byte>> out(ranks);
  if (rank_of(comm) == 0) {
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto* const bytes = reinterpret_cast<const std::byte*>(cells.data());
      out[r].assign(bytes + planes.starts[r] * plane_size,
                    bytes + planes.starts[r + 1] * plane_size);
    }
  }
  const auto in = all_to_all(comm, out);
  const auto* const first = reinterpret_cast<const std::uint8_t*>(in[0].data());
  return {first, first + in[0].size()};
}

}  // namespace

Voxels load_text(MPI_Comm comm, const std::string& path, const Grid& grid,
                 const Materials& materials) {
  Voxels voxels;
  voxels.grid = grid;
  std::vector<std::uint8_t> cells;
  agree(comm, [&] {
    if (rank_of(comm) == 0) {
      cells = read_cells(path, grid, materials);
    }
  });
  const auto counts = count_planes(comm, grid, 0, cells);
  voxels.total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  voxels.planes = balanced(counts, size_of(comm));
  fetch_halo(comm, voxels, scatter(comm, cells, voxels.planes, voxels.plane_size()));
  return voxels;
}

}  // namespace parabmu
