/* A program that defines names of libhdf5 itself, as one does that is linked to another libhdf5,
 * without symbol versions: Sluice never calls them. */
#define SLUICE_NO_MPI_H
#include <sluice/sluice.h>

#include "check.h"

static void called(const char* name) {
  fprintf(stderr, "the program's %s was called\n", name);
  abort();
}

#define OWN(name)                                        \
  __attribute__((visibility("default"))) int name(void); \
  int name(void) {                                       \
    called(#name);                                       \
    return -1;                                           \
  }

OWN(H5open)
OWN(H5check_version)
OWN(H5Fcreate)
OWN(H5Fopen)
OWN(H5Fclose)
OWN(H5Dcreate2)
OWN(H5Dwrite)
OWN(H5Dread)
OWN(H5Pcreate)
OWN(H5FDregister)
OWN(H5E_clear_stack)
OWN(H5I_register)

int main(void) {
  const int64_t shape[1] = {3};
  const double data[3] = {1, 2, 3};
  double got[3] = {0, 0, 0};
  sluice_file* file = NULL;
  sluice_variable x = -1;
  make_folder();
  OK(sluice_open_serial(in_folder("own.h5"), "w", "durability = \"none\"", &file));
  OK(sluice_define(file, "x", SLUICE_FLOAT64, 1, shape, NULL, &x));
  OK(sluice_put(file, x, SLUICE_FLOAT64, data, 1, NULL, NULL));
  OK(sluice_close(file));
  sluice_free(file);
  OK(sluice_open_serial(in_folder("own.h5"), "r", NULL, &file));
  OK(sluice_get(file, x, SLUICE_FLOAT64, got, 1, NULL, NULL, 0));
  CHECK(memcmp(got, data, sizeof got) == 0);
  OK(sluice_close(file));
  sluice_free(file);
  remove_folder();
  return check_failures != 0;
}
