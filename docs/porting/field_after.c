/* A field of rows x columns, one slab a rank, three steps: with Sluice. field_after FILE: its
 * ending selects the format (.h5, .nc, .zarr). */
#include <mpi.h>
#include <sluice/sluice.h>
#include <stdio.h>

enum { rows = 1000, columns = 64, steps = 3 };
static double field[rows][columns];

static void advance(int rank, int step) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) field[i][j] = rank + 0.1 * step + 1e-3 * i + 1e-6 * j;
  }
}

static void check(int code, const sluice_file* file) {
  if (code == SLUICE_OK) return;
  fprintf(stderr, "%s\n", sluice_last_error(file));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* path = argc > 1 ? argv[1] : "after.h5";
  /* output */
  sluice_file* file;
  sluice_variable data;
  sluice_variable_options options = SLUICE_VARIABLE_OPTIONS_INIT;
  const char* dimensions[2] = {"y", "x"};
  options.steps = 1;
  options.unit = "K";
  options.dimensions = dimensions;
  const int64_t shape[2] = {(int64_t)rows * ranks, columns};
  const int64_t start[2] = {(int64_t)rows * rank, 0}, count[2] = {rows, columns};
  check(sluice_open(MPI_COMM_WORLD, path, "w", NULL, &file), NULL);
  check(sluice_define(file, "field", SLUICE_FLOAT64, 2, shape, &options, &data), file);
  for (int step = 0; step < steps; ++step) {
    advance(rank, step);
    sluice_begin_step(file, 0.1 * step);
    sluice_put(file, data, SLUICE_FLOAT64, field, 2, start, count);
    check(sluice_end_step(file, NULL), file);
  }
  check(sluice_close(file), file);
  sluice_free(file);
  /* end of output */
  MPI_Finalize();
  return 0;
}
