/* A field of rows x columns, one slab a rank, three steps: with parallel netCDF-4. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>

enum { rows = 1000, columns = 64, steps = 3 };
static double field[rows][columns];

static void advance(int rank, int step) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) field[i][j] = rank + 0.1 * step + 1e-3 * i + 1e-6 * j;
  }
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  /* output */
  int file, data, time, dimensions[3];
  nc_create_par("before.nc", NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file);
  nc_def_dim(file, "time", NC_UNLIMITED, &dimensions[0]);
  nc_def_dim(file, "y", (size_t)rows * ranks, &dimensions[1]);
  nc_def_dim(file, "x", columns, &dimensions[2]);
  nc_def_var(file, "time", NC_DOUBLE, 1, dimensions, &time);
  nc_def_var(file, "field", NC_DOUBLE, 3, dimensions, &data);
  nc_put_att_text(file, data, "units", 1, "K");
  nc_enddef(file);
  nc_var_par_access(file, data, NC_COLLECTIVE);
  nc_var_par_access(file, time, NC_COLLECTIVE);
  for (int step = 0; step < steps; ++step) {
    advance(rank, step);
    const size_t start[3] = {step, (size_t)rows * rank, 0}, count[3] = {1, rows, columns};
    const double now = 0.1 * step;
    nc_put_vara_double(file, time, start, count, &now);
    nc_put_vara_double(file, data, start, count, field[0]);
    nc_sync(file);
  }
  nc_close(file);
  /* end of output */
  MPI_Finalize();
  return 0;
}
