/* A C program as people write them: rows appended to a dataset, a flush after each block, a value
   in place. rows FILE BLOCKS [END]: with END it ends without closing the file, as a crash would.

   What it needs of HDF5 is declared here: the wheels that bring HDF5 1.14 and 2.x have no headers,
   and Debian's are of 1.10. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int64_t hid_t;
typedef unsigned long long hsize_t;
typedef int herr_t;

extern hid_t H5T_NATIVE_DOUBLE_g, H5T_IEEE_F64LE_g, H5P_CLS_DATASET_CREATE_ID_g;
herr_t H5open(void);
herr_t H5get_libversion(unsigned*, unsigned*, unsigned*);
hid_t H5Fcreate(const char*, unsigned, hid_t, hid_t);
herr_t H5Fflush(hid_t, int);
herr_t H5Fclose(hid_t);
hid_t H5Screate_simple(int, const hsize_t*, const hsize_t*);
herr_t H5Sselect_hyperslab(hid_t, int, const hsize_t*, const hsize_t*, const hsize_t*,
                           const hsize_t*);
herr_t H5Sclose(hid_t);
hid_t H5Pcreate(hid_t);
herr_t H5Pset_chunk(hid_t, int, const hsize_t*);
herr_t H5Pclose(hid_t);
hid_t H5Dcreate2(hid_t, const char*, hid_t, hid_t, hid_t, hid_t, hid_t);
herr_t H5Dset_extent(hid_t, const hsize_t*);
hid_t H5Dget_space(hid_t);
herr_t H5Dwrite(hid_t, hid_t, hid_t, hid_t, hid_t, const void*);
herr_t H5Dclose(hid_t);

enum { access_truncate = 2, scope_local = 0, select_set = 0, default_list = 0, all = 0 };
enum { rows = 5, columns = 40 };

static void check(int64_t result, const char* what) {
  if (result < 0) {
    fprintf(stderr, "%s failed\n", what);
    exit(1);
  }
}

static void append(hid_t data, hsize_t block) {
  double values[rows][columns];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      values[i][j] = (double)(block * 1000 + i) + j / 64.0;
    }
  }
  const hsize_t shape[2] = {(block + 1) * rows, columns};
  const hsize_t start[2] = {block * rows, 0};
  const hsize_t count[2] = {rows, columns};
  check(H5Dset_extent(data, shape), "H5Dset_extent");
  const hid_t in_file = H5Dget_space(data);
  check(H5Sselect_hyperslab(in_file, select_set, start, NULL, count, NULL), "a selection");
  const hid_t in_memory = H5Screate_simple(2, count, NULL);
  check(H5Dwrite(data, H5T_NATIVE_DOUBLE_g, in_memory, in_file, default_list, values), "H5Dwrite");
  H5Sclose(in_memory);
  H5Sclose(in_file);
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "rows FILE BLOCKS [END]\n");
    return 2;
  }
  unsigned version[3];
  check(H5open(), "H5open");
  H5get_libversion(&version[0], &version[1], &version[2]);
  printf("%u.%u.%u\n", version[0], version[1], version[2]);
  const hid_t file = H5Fcreate(argv[1], access_truncate, default_list, default_list);
  check(file, "H5Fcreate");
  const hsize_t shape[2] = {0, columns};
  const hsize_t most[2] = {~0ULL, columns};
  const hsize_t chunk[2] = {8, columns};
  const hid_t space = H5Screate_simple(2, shape, most);
  const hid_t list = H5Pcreate(H5P_CLS_DATASET_CREATE_ID_g);
  check(H5Pset_chunk(list, 2, chunk), "H5Pset_chunk");
  const hid_t data =
      H5Dcreate2(file, "rows", H5T_IEEE_F64LE_g, space, default_list, list, default_list);
  const hid_t scalar = H5Screate_simple(0, NULL, NULL);
  const hid_t last =
      H5Dcreate2(file, "last", H5T_IEEE_F64LE_g, scalar, default_list, default_list, default_list);
  check(data, "H5Dcreate2");
  for (hsize_t block = 0; block < (hsize_t)atoi(argv[2]); ++block) {
    const double number = (double)block;
    append(data, block);
    check(H5Dwrite(last, H5T_NATIVE_DOUBLE_g, all, all, default_list, &number), "H5Dwrite");
    check(H5Fflush(file, scope_local), "H5Fflush");
  }
  if (argc > 3) {
    const double number = -1;
    append(data, (hsize_t)atoi(argv[2]));
    check(H5Dwrite(last, H5T_NATIVE_DOUBLE_g, all, all, default_list, &number), "H5Dwrite");
    fflush(stdout);
    _exit(0);
  }
  H5Dclose(last);
  H5Dclose(data);
  H5Sclose(scalar);
  H5Sclose(space);
  H5Pclose(list);
  check(H5Fclose(file), "H5Fclose");
  return 0;
}
