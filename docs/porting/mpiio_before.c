/* A field of rows x columns, one slab a rank, three steps: with MPI-IO. */
#include <mpi.h>

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
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "before.raw", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                &file);
  const MPI_Offset slab = sizeof field;
  for (int step = 0; step < steps; ++step) {
    advance(rank, step);
    MPI_File_write_at_all(file, ((MPI_Offset)step * ranks + rank) * slab, field, rows * columns,
                          MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
  }
  MPI_File_close(&file);
  /* end of output */
  MPI_Finalize();
  return 0;
}
