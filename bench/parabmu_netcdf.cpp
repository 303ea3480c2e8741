// Parallel netCDF-4 doing the writes of PARPRINT_X: the peer of bench_parabmu.
//
//   bench_parabmu_netcdf NODES ROUNDS      in the folder that is to be measured
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <unistd.h>
#include <vector>

namespace {

void check(int status) {
  if (status != NC_NOERR) {
    std::fprintf(stderr, "bench_parabmu_netcdf: %s\n", nc_strerror(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

struct Part {
  std::size_t first;
  std::size_t count;
  std::vector<long long> ids;
  std::vector<float> place;
  std::vector<double> values;
};

int define(int file, const char* name, nc_type type, int rank, const int* dimensions,
           bool compressed) {
  int variable = 0;
  check(nc_def_var(file, name, type, rank, dimensions, &variable));
  check(nc_def_var_fill(file, variable, NC_NOFILL, nullptr));
  if (compressed) {
    check(nc_def_var_deflate(file, variable, 1, 1, 1));
  }
  check(nc_var_par_access(file, variable, NC_COLLECTIVE));
  return variable;
}

/// Seconds of the slowest rank until the file is closed and on the disk.
/// Numbers and places are always deflated, as by the app; `compressed`: the displacements too.
double write(const Part& part, std::size_t nodes, bool compressed) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began_s = MPI_Wtime();
  int file = 0;
  check(nc_create_par("peer.nc", NC_CLOBBER | NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  int dimensions[2];
  check(nc_def_dim(file, "node", nodes, &dimensions[0]));
  check(nc_def_dim(file, "axis", 3, &dimensions[1]));
  const int id = define(file, "node_id", NC_INT64, 1, dimensions, true);
  int along[3];
  for (int axis = 0; axis < 3; ++axis) {
    const char name[2] = {static_cast<char>('x' + axis), '\0'};
    along[axis] = define(file, name, NC_FLOAT, 1, dimensions, true);
  }
  const int displacement = define(file, "displacement", NC_DOUBLE, 2, dimensions, compressed);
  check(nc_enddef(file));
  const std::size_t start[2] = {part.first, 0};
  const std::size_t count[2] = {part.count, 3};
  check(nc_put_vara_longlong(file, id, start, count, part.ids.data()));
  for (const int variable : along) {
    check(nc_put_vara_float(file, variable, start, count, part.place.data()));
  }
  check(nc_put_vara_double(file, displacement, start, count, part.values.data()));
  check(nc_close(file));
  if (rank == 0) {
    const int opened = open("peer.nc", O_RDONLY);
    fsync(opened);
    close(opened);
  }
  double seconds = MPI_Wtime() - began_s;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::size_t nodes = argc == 3 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const auto share = [&](int r) {
    return nodes * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks);
  };
  Part part{share(rank), share(rank + 1) - share(rank), {}, {}, {}};
  for (std::size_t i = 0; i < part.count; ++i) {
    const auto number = static_cast<double>(part.first + i);
    part.ids.push_back(static_cast<long long>(part.first + i));
    part.place.push_back(static_cast<float>((part.first + i) % 300) * 0.1F);
    for (int axis = 0; axis < 3; ++axis) {
      part.values.push_back(1e-3 * std::sin(1e-7 * number + axis) +
                            1e-9 * std::sin(12345.678 * number));
    }
  }
  for (int round = 0; argc == 3 && round < std::atoi(argv[2]); ++round) {
    const double plain_s = write(part, nodes, false);
    const double deflate_s = write(part, nodes, true);
    if (rank == 0) {
      std::printf("{\"plain_s\": %.6f, \"deflate_s\": %.6f}\n", plain_s, deflate_s);
      std::fflush(stdout);
    }
  }
  MPI_Finalize();
  return argc == 3 ? 0 : 2;
}
