// What simulations do with parallel HDF5: contiguous and chunked datasets, collective and
// independent, interleaved selections, attributes, growth, flushes; then everything is read back by
// the next rank. hdf5_program FILE; exits with 1 where a value is wrong.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// No part of a chunk lies outside of the dataset: HDF5 leaves there what was in memory.
enum { rows = 48, columns = 1000, chunk_rows = 8, chunk_columns = 125 };

static int rank, ranks, wrong;

static void need(hid_t result, const char* what) {
  if (result < 0) {
    fprintf(stderr, "rank %d: %s failed\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static int value_of(int dataset, hsize_t row, hsize_t column) {
  return (int)(dataset * 1000003 + row * 1009 + column * 7);
}

// Rows in turn, or blocks of columns.
static hsize_t select_part(hid_t space, int part, int by_columns) {
  hsize_t start[2] = {(hsize_t)part, 0}, stride[2] = {(hsize_t)ranks, 1};
  hsize_t count[2] = {(rows - (hsize_t)part + (hsize_t)ranks - 1) / (hsize_t)ranks, 1};
  hsize_t block[2] = {1, columns};
  if (by_columns) {
    start[0] = 0, start[1] = (hsize_t)(columns / ranks * part);
    stride[0] = 1, count[0] = 1, block[0] = rows;
    block[1] = (hsize_t)(part == ranks - 1 ? columns - columns / ranks * part : columns / ranks);
  }
  need(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block), "selecting");
  return count[0] * block[0] * block[1];
}

static void transfer(hid_t dataset, int number, int part, int by_columns, int collective,
                     int is_write) {
  hid_t space = H5Dget_space(dataset);
  const hsize_t elements = select_part(space, part, by_columns);
  hid_t memory = H5Screate_simple(1, &elements, NULL);
  int* values = calloc(elements, sizeof *values);
  hid_t plist = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(plist, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
  const hsize_t width = by_columns ? elements / rows : columns;
  const hsize_t left = by_columns ? (hsize_t)(columns / ranks * part) : 0;
  if (!is_write) {
    need(H5Dread(dataset, H5T_NATIVE_INT, memory, space, plist, values), "reading");
  }
  for (hsize_t i = 0; i < elements; ++i) {
    const hsize_t line = i / width;
    const hsize_t row = by_columns ? line : (hsize_t)part + line * (hsize_t)ranks;
    const int right = value_of(number, row, left + i % width);
    if (is_write) {
      values[i] = right;
    } else if (values[i] != right) {
      ++wrong;
    }
  }
  if (is_write) {
    need(H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, plist, values), "writing");
  }
  H5Pclose(plist);
  H5Sclose(memory);
  H5Sclose(space);
  free(values);
}

static hid_t open_file(const char* name, int is_new) {
  hid_t plist = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(plist, MPI_COMM_WORLD, MPI_INFO_NULL);
  hid_t file = is_new ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, plist)
                      : H5Fopen(name, H5F_ACC_RDONLY, plist);
  need(file, "opening");
  H5Pclose(plist);
  return file;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  hid_t file = open_file(argv[argc - 1], 1);
  for (int number = 0; number < 16; ++number) {
    const int chunked = number & 1, by_columns = number >> 1 & 1, collective = number >> 2 & 1;
    const int fills = number >> 3 & 1;
    char name[32];
    snprintf(name, sizeof name, "set%d", number);
    hsize_t dims[2] = {rows, columns}, chunk[2] = {chunk_rows, chunk_columns};
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(plist, 0);
    H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(plist, fills ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER);
    if (chunked) {
      H5Pset_chunk(plist, 2, chunk);
    }
    hid_t dataset = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    need(dataset, "creating a dataset");
    transfer(dataset, number, rank, by_columns, collective, 1);
    hid_t scalar = H5Screate(H5S_SCALAR);
    hid_t attribute =
        H5Acreate2(dataset, "number", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
    need(H5Awrite(attribute, H5T_NATIVE_INT, &number), "writing an attribute");
    H5Aclose(attribute);
    H5Sclose(scalar);
    H5Dclose(dataset);
    H5Pclose(plist);
    H5Sclose(space);
    if (number % 5 == 4) {
      need(H5Fflush(file, H5F_SCOPE_GLOBAL), "flushing");
    }
  }
  need(H5Fclose(file), "closing");
  file = open_file(argv[argc - 1], 0);
  for (int number = 0; number < 16; ++number) {
    char name[32];
    snprintf(name, sizeof name, "set%d", number);
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    need(dataset, "opening a dataset");
    transfer(dataset, number, (rank + 1) % ranks, number & 1, number >> 1 & 1, 0);
    H5Dclose(dataset);
  }
  H5Fclose(file);
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
