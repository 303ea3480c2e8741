/* Handles that were freed, and puts and gets of strided memory that do not fit: refused, without
 * touching another file or memory that is not the caller's. */
#define SLUICE_NO_MPI_H
#include <sluice/sluice.h>

#include "check.h"

static const char* const options = "durability = \"none\"\nlog = \"off\"";

static sluice_file* open_new(const char* name) {
  sluice_file* file = NULL;
  OK(sluice_open_serial(in_folder(name), "w", options, &file));
  return file;
}

/* A program that kept a handle by mistake writes into no file that was opened since. */
static void check_freed_handles(void) {
  enum { opened_since = 20 };
  const int64_t shape[1] = {4}, data[4] = {1, 2, 3, 4};
  sluice_variable x = -1;
  sluice_file* old = open_new("old.h5");
  OK(sluice_define(old, "x", SLUICE_INT64, 1, shape, NULL, &x));
  OK(sluice_put(old, x, SLUICE_INT64, data, 1, NULL, NULL));
  OK(sluice_close(old));
  sluice_free(old);
  for (int i = 0; i < opened_since; ++i) {
    sluice_file* file = open_new("since.h5");
    CHECK(file != old);
    OK(sluice_define(file, "x", SLUICE_INT64, 1, shape, NULL, &x));
    FAILS(sluice_put(old, x, SLUICE_INT64, data, 1, NULL, NULL), SLUICE_ERROR_WRONG_STATE, "freed");
    OK(sluice_close(file));
    sluice_free(file);
  }
}

/* Handles are reused all the same, and know nothing of the file before. */
static void check_reused_handles(void) {
  enum { most_opened = 1000 };
  sluice_file* old = open_new("failed.h5");
  OK(sluice_begin_step(old, 0));
  OK(sluice_abandon_step(old, "no more"));
  OK(sluice_begin_step(old, 0));
  CHECK(sluice_begin_step(old, 0) == SLUICE_ERROR_WRONG_STATE); /* kept for the end */
  sluice_free(old);
  OK(sluice_free_because(old, "a mistake: it is freed already"));
  sluice_file* file = NULL;
  for (int i = 0; i < most_opened && file != old; ++i) {
    if (file != NULL) {
      sluice_free(file);
    }
    file = open_new("again.h5");
  }
  CHECK(file == old);
  FAILS(sluice_end_step(file, NULL), SLUICE_ERROR_WRONG_STATE, "there is no step under way");
  OK(sluice_close(file));
  sluice_free(file);
}

static void check_strided_bounds(void) {
  const int64_t shape[2] = {4, 4}, stride_bytes[2] = {64, 8};
  /* Far beyond the data, and so many that their bytes do not fit into 64 bits. */
  const int64_t counts[2][2] = {{1000000, 4}, {((int64_t)1 << 61) + 1, 1}};
  static double data[32];
  sluice_file* file = open_new("bounds.h5");
  sluice_variable x = -1;
  OK(sluice_define(file, "x", SLUICE_FLOAT64, 2, shape, NULL, &x));
  sluice_selection part = SLUICE_SELECTION_INIT;
  part.stride_bytes = stride_bytes;
  for (int i = 0; i < 2; ++i) {
    part.count = counts[i];
    FAILS(sluice_put_selection(file, x, SLUICE_FLOAT64, data, 2, &part), SLUICE_ERROR_OUT_OF_BOUNDS,
          "is outside shape (4, 4)");
    CHECK(sluice_flush(file, NULL) == SLUICE_ERROR_OUT_OF_BOUNDS);
  }
  part.count = NULL;
  OK(sluice_put_selection(file, x, SLUICE_FLOAT64, data, 2, &part));
  OK(sluice_close(file));
  sluice_free(file);

  OK(sluice_open_serial(in_folder("bounds.h5"), "r", NULL, &file));
  for (int i = 0; i < 2; ++i) {
    part.count = counts[i];
    FAILS(sluice_get_selection(file, x, SLUICE_FLOAT64, data, 2, &part, SLUICE_LAST_STEP),
          SLUICE_ERROR_OUT_OF_BOUNDS, "is outside shape (4, 4)");
  }
  OK(sluice_close(file));
  sluice_free(file);
}

/* The bytes of a part in memory may be more than 64 bits count, where those of the file are not. */
static void check_strided_bytes(void) {
  const int64_t shape[1] = {(int64_t)1 << 62}, stride_bytes[1] = {0};
  static double data[2];
  sluice_file* file = open_new("bytes.h5");
  sluice_variable x = -1;
  OK(sluice_define(file, "x", SLUICE_INT8, 1, shape, NULL, &x));
  sluice_selection part = SLUICE_SELECTION_INIT;
  part.stride_bytes = stride_bytes;
  part.allow_overflow = 1;
  FAILS(sluice_put_selection(file, x, SLUICE_INT64, data, 1, &part), SLUICE_ERROR_OUT_OF_BOUNDS,
        "bytes.h5");
  sluice_free(file);
}

int main(void) {
  make_folder();
  check_freed_handles();
  check_reused_handles();
  check_strided_bounds();
  check_strided_bytes();
  remove_folder();
  return check_failures != 0;
}
