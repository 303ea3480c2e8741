/* A program that is linked to the very libhdf5 that Sluice loads, and reads with it what Sluice
 * wrote. Variables of libhdf5 that the program names live in the program. */
#define SLUICE_NO_MPI_H
#include <hdf5.h>
#include <sluice/sluice.h>

#include "check.h"

enum { elements = 5 };

int main(void) {
  make_folder();
  const char* path = in_folder("shared_hdf5.h5");
  double mine[elements] = {1, 2, 3, 4, 5}, read[elements] = {0};
  const hid_t copy = H5Tcopy(H5T_IEEE_F64LE); /* of the program, before Sluice has called any */
  CHECK(copy >= 0 && H5Tequal(copy, H5T_NATIVE_DOUBLE) > 0);

  sluice_file* out = NULL;
  const int64_t shape[1] = {elements}, start[1] = {0};
  sluice_variable x = -1;
  sluice_variable_options steps = SLUICE_VARIABLE_OPTIONS_INIT;
  steps.steps = 1;
  OK(sluice_open_serial(path, "w", NULL, &out));
  OK(sluice_define(out, "x", SLUICE_FLOAT64, 1, shape, &steps, &x));
  OK(sluice_begin_step(out, 0.5));
  OK(sluice_put(out, x, SLUICE_FLOAT64, mine, 1, start, shape));
  OK(sluice_end_step(out, NULL));
  OK(sluice_close(out));
  sluice_free(out);

  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
  CHECK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
  for (int i = 0; i < elements; ++i) {
    CHECK(read[i] == mine[i]);
  }
  H5Dclose(dataset);
  H5Fclose(file);
  H5Tclose(copy);
  remove_folder();
  return check_failures == 0 ? 0 : 1;
}
