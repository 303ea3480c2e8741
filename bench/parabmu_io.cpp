// The input and output of apps/parabmu alone, on a model too large to be solved here.
//
//   bench_parabmu MODEL MODEL.nc X Y Z ROUNDS      in the folder that is to be measured
//
// Rank 0 prints a line of JSON a round: seconds until the slowest rank was through.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "model.hpp"
#include "results.hpp"

namespace {

using namespace parabmu;

double timed(MPI_Comm comm, const std::function<void()>& body) {
  MPI_Barrier(comm);
  const double began_s = MPI_Wtime();
  body();
  return largest(comm, MPI_Wtime() - began_s);
}

/// The numbers of own nodes, without the rows of any matrix.
Mesh numbered(MPI_Comm comm, const Voxels& voxels) {
  Mesh mesh;
  mesh.nodes = {voxels.grid[0] + 1, voxels.grid[1] + 1, voxels.grid[2] + 1};
  const std::uint64_t begin = voxels.planes.begin(rank_of(comm));
  std::uint64_t end = voxels.planes.end(rank_of(comm));
  end += begin != end && end == voxels.grid[2] ? 1 : 0;
  std::vector<bool> touched;
  for (std::uint64_t z = begin; z < end; ++z) {
    touched.assign(mesh.nodes[0] * mesh.nodes[1], false);
    for (std::uint64_t plane = z == 0 ? 0 : z - 1; plane <= z && plane < voxels.grid[2]; ++plane) {
      for (std::uint64_t i = 0; i < voxels.plane_size(); ++i) {
        if (voxels.plane(plane)[i] != 0) {
          const std::uint64_t at = i / voxels.grid[0] * mesh.nodes[0] + i % voxels.grid[0];
          touched[at] = touched[at + 1] = true;
          touched[at + mesh.nodes[0]] = touched[at + mesh.nodes[0] + 1] = true;
        }
      }
    }
    for (std::uint64_t at = 0; at < touched.size(); ++at) {
      if (touched[at]) {
        mesh.ids.push_back(z * touched.size() + at);
      }
    }
  }
  mesh.owned = mesh.ids.size();
  mesh.offset = sum_below(comm, mesh.owned);
  mesh.total = static_cast<std::uint64_t>(sum(comm, static_cast<std::int64_t>(mesh.owned)));
  return mesh;
}

/// Smooth, with a last digit that no compressor foresees.
std::vector<double> field(const Mesh& mesh) {
  std::vector<double> values(3 * mesh.owned);
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    const auto id = static_cast<double>(mesh.ids[i / 3]);
    values[i] =
        1e-3 * std::sin(1e-7 * id + static_cast<double>(i % 3)) + 1e-9 * std::sin(12345.678 * id);
  }
  return values;
}

void measure(MPI_Comm comm, char** argv) {
  const Grid grid{std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10),
                  std::strtoull(argv[5], nullptr, 10)};
  Materials materials;
  materials[1] = Material{17000, 0.3};
  materials[2] = Material{9000, 0.3};
  Voxels voxels;
  const double text_in_s = timed(comm, [&] { voxels = load_text(comm, argv[1], grid, materials); });
  const double nc_in_s =
      timed(comm, [&] { voxels = load_parallel(comm, argv[2], grid, materials, true); });
  const Mesh mesh = numbered(comm, voxels);
  const std::vector<double> displacements = field(mesh);
  const Results results{mesh, displacements, {0.1, 0.1, 0.1}, "materials.txt"};
  const double text_out_s = timed(comm, [&] { print_text(comm, "out.txt", results); });
  const double nc_out_s = timed(comm, [&] { print_parallel(comm, "out.nc", results, "none"); });
  const double deflate_out_s =
      timed(comm, [&] { print_parallel(comm, "deflated.nc", results, "deflate:1"); });
  if (rank_of(comm) == 0) {
    std::printf(
        "{\"voxels\": %llu, \"nodes\": %llu, \"text_in_s\": %.6f, \"nc_in_s\": %.6f, "
        "\"text_out_s\": %.6f, \"nc_out_s\": %.6f, "
        "\"deflate_out_s\": %.6f, \"text_bytes\": %llu, \"nc_bytes\": %llu, "
        "\"deflate_bytes\": %llu}\n",
        static_cast<unsigned long long>(voxels.total), static_cast<unsigned long long>(mesh.total),
        text_in_s, nc_in_s, text_out_s, nc_out_s, deflate_out_s,
        static_cast<unsigned long long>(std::filesystem::file_size("out.txt")),
        static_cast<unsigned long long>(std::filesystem::file_size("out.nc")),
        static_cast<unsigned long long>(std::filesystem::file_size("deflated.nc")));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = argc == 7 ? 0 : 2;
  try {
    for (int round = 0; status == 0 && round < std::atoi(argv[6]); ++round) {
      measure(MPI_COMM_WORLD, argv);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_parabmu: %s\n", error.what());
    status = 1;
  }
  MPI_Finalize();
  return status;
}
