/* A field of rows x columns, one slab a rank, three steps: with parallel HDF5. */
#include <hdf5.h>
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
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  hid_t file = H5Fcreate("before.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  hsize_t shape[3] = {0, (hsize_t)rows * ranks, columns};
  const hsize_t most[3] = {H5S_UNLIMITED, shape[1], columns}, chunk[3] = {1, rows, columns};
  hid_t space = H5Screate_simple(3, shape, most);
  hid_t create = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(create, 3, chunk);
  hid_t data = H5Dcreate(file, "field", H5T_IEEE_F64LE, space, H5P_DEFAULT, create, H5P_DEFAULT);
  hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  for (int step = 0; step < steps; ++step) {
    advance(rank, step);
    shape[0] = step + 1;
    H5Dset_extent(data, shape);
    const hsize_t start[3] = {step, (hsize_t)rows * rank, 0}, count[3] = {1, rows, columns};
    hid_t target = H5Dget_space(data), memory = H5Screate_simple(3, count, NULL);
    H5Sselect_hyperslab(target, H5S_SELECT_SET, start, NULL, count, NULL);
    H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, target, transfer, field);
    H5Sclose(memory), H5Sclose(target);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
  }
  H5Pclose(transfer), H5Pclose(create), H5Pclose(access);
  H5Dclose(data), H5Sclose(space), H5Fclose(file);
  /* end of output */
  MPI_Finalize();
  return 0;
}
