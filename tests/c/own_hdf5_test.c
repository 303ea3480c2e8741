/* A program that writes through its own, parallel HDF5 and through Sluice, in turn and with files
 * of both open: each libhdf5 keeps to itself. */
#include <hdf5.h>
#include <sluice/sluice.h>

#include "check.h"

enum { each = 4, steps = 3 };
static int rank, ranks;
static hsize_t shape[2], start[2], count[2] = {1, each};

static void step_of_both(sluice_file* ours, sluice_variable x, hid_t theirs, int step) {
  double mine[each];
  for (int i = 0; i < each; ++i) {
    mine[i] = 100 * step + rank * each + i;
  }
  const int64_t first[1] = {(int64_t)rank * each}, size[1] = {each};
  OK(sluice_begin_step(ours, step));
  OK(sluice_put(ours, x, SLUICE_FLOAT64, mine, 1, first, size));

  start[0] = (hsize_t)step;
  const hid_t space = H5Dget_space(theirs);
  const hid_t memory = H5Screate_simple(2, count, NULL);
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  CHECK(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE) >= 0);
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
  CHECK(H5Dwrite(theirs, H5T_NATIVE_DOUBLE, memory, space, transfer, mine) >= 0);
  H5Pclose(transfer);
  H5Sclose(memory);
  H5Sclose(space);

  OK(sluice_end_step(ours, NULL));
}

static hid_t open_parallel(const char* path, int create) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  const hid_t file = create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                            : H5Fopen(path, H5F_ACC_RDONLY, access);
  CHECK(file >= 0);
  H5Pclose(access);
  return file;
}

static void write_both(const char* our_path, const char* their_path) {
  const int64_t all[1] = {(int64_t)ranks * each};
  sluice_file* ours = NULL;
  sluice_variable x = -1;
  sluice_variable_options stepped = SLUICE_VARIABLE_OPTIONS_INIT;
  stepped.steps = 1;
  const hid_t file = open_parallel(their_path, 1);
  OK(sluice_open(MPI_COMM_WORLD, our_path, "w", "durability = \"none\"", &ours));
  OK(sluice_define(ours, "x", SLUICE_FLOAT64, 1, all, &stepped, &x));
  const hid_t space = H5Screate_simple(2, shape, NULL);
  const hid_t theirs =
      H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(theirs >= 0);
  for (int step = 0; step < steps; ++step) {
    step_of_both(ours, x, theirs, step);
  }
  H5Dclose(theirs);
  H5Sclose(space);
  OK(sluice_close(ours));
  CHECK(H5Fclose(file) >= 0);
  sluice_free(ours);
}

/* The values of dataset x, by the program's HDF5 or by Sluice, whoever wrote the file. */
static void check_by_hdf5(const char* path) {
  double* values = calloc((size_t)(shape[0] * shape[1]), sizeof(double));
  const hid_t file = open_parallel(path, 0);
  const hid_t data = H5Dopen2(file, "x", H5P_DEFAULT);
  CHECK(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  for (hsize_t step = 0; step < shape[0]; ++step) {
    for (hsize_t i = 0; i < shape[1]; ++i) {
      CHECK(values[step * shape[1] + i] == (double)(100 * step + i));
    }
  }
  H5Dclose(data);
  H5Fclose(file);
  free(values);
}

static void check_by_sluice(const char* path, int is_ours) {
  double* values = calloc((size_t)(shape[0] * shape[1]), sizeof(double));
  sluice_file* in = NULL;
  sluice_variable x = -1;
  OK(sluice_open(MPI_COMM_WORLD, path, "r", NULL, &in));
  OK(sluice_find(in, "x", &x));
  for (int step = 0; is_ours && step < steps; ++step) {
    OK(sluice_get(in, x, SLUICE_FLOAT64, values + (hsize_t)step * shape[1], 1, NULL, NULL, step));
  }
  if (!is_ours) {
    OK(sluice_get(in, x, SLUICE_FLOAT64, values, 2, NULL, NULL, 0));
  }
  for (hsize_t step = 0; step < shape[0]; ++step) {
    for (hsize_t i = 0; i < shape[1]; ++i) {
      CHECK(values[step * shape[1] + i] == (double)(100 * step + i));
    }
  }
  OK(sluice_close(in));
  sluice_free(in);
  free(values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  shape[0] = steps;
  shape[1] = (hsize_t)ranks * each;
  start[1] = (hsize_t)rank * each;
  if (rank == 0) {
    make_folder();
  }
  MPI_Bcast(check_folder, (int)sizeof check_folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  char ours[512], theirs[512];
  snprintf(ours, sizeof ours, "%s", in_folder("ours.h5"));
  snprintf(theirs, sizeof theirs, "%s", in_folder("theirs.h5"));
  write_both(ours, theirs);
  check_by_hdf5(ours);
  check_by_hdf5(theirs);
  check_by_sluice(ours, 1);
  check_by_sluice(theirs, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    remove_folder();
  }
  MPI_Finalize();
  return check_failures != 0;
}
