/* Without communicator: a program that knows nothing of MPI, with several files at once, a file
 * that grows while it is read, memory of every stride, rows that vary, and handles in threads. */
#define SLUICE_NO_MPI_H
#include <pthread.h>
#include <sluice/sluice.h>

#include "check.h"

extern int MPI_Initialized(int* started);

static const char* const options = "durability = \"none\"";

static void check_refresh(void) {
  char path[512];
  snprintf(path, sizeof path, "%s", in_folder("growing.h5"));
  sluice_file *out = NULL, *in = NULL;
  const int64_t shape[1] = {4}, start[1] = {0};
  sluice_variable z = -1, a = -1, seen = -1;
  sluice_variable_options steps = SLUICE_VARIABLE_OPTIONS_INIT;
  steps.steps = 1;
  OK(sluice_open_serial(path, "w", options, &out));
  OK(sluice_define(out, "z", SLUICE_INT32, 1, shape, &steps, &z));
  const int32_t first[4] = {1, 2, 3, 4}, second[4] = {5, 6, 7, 8};
  int32_t got[4] = {0};
  OK(sluice_begin_step(out, 0));
  OK(sluice_put(out, z, SLUICE_INT32, first, 1, start, shape));
  OK(sluice_end_step(out, NULL));

  OK(sluice_open_serial(path, "r", NULL, &in));
  OK(sluice_find(in, "z", &seen));
  OK(sluice_define(out, "a", SLUICE_INT32, 1, shape, NULL, &a)); /* comes before z by name */
  OK(sluice_put(out, a, SLUICE_INT32, second, 1, start, shape));
  OK(sluice_begin_step(out, 1));
  OK(sluice_put(out, z, SLUICE_INT32, second, 1, start, shape));
  OK(sluice_end_step(out, NULL));

  int64_t number = 0;
  OK(sluice_steps(in, &number));
  CHECK(number == 1);
  OK(sluice_refresh(in));
  OK(sluice_steps(in, &number));
  CHECK(number == 2);
  OK(sluice_get(in, seen, SLUICE_INT32, got, 1, start, shape, SLUICE_LAST_STEP));
  CHECK(memcmp(got, second, sizeof got) == 0);
  sluice_variable later = -1;
  OK(sluice_find(in, "a", &later));
  OK(sluice_get(in, later, SLUICE_INT32, got, 1, NULL, NULL, 0));
  CHECK(memcmp(got, second, sizeof got) == 0);
  OK(sluice_close(in));
  OK(sluice_close(out));
  sluice_free(in);
  sluice_free(out);
}

static void hear(const char* text, void* user) { snprintf(user, 512, "%s", text); }

static void check_messages(void) {
  char heard[512] = "";
  sluice_file* out = NULL;
  const int64_t shape[1] = {1000};
  sluice_variable v = -1;
  static double data[1000];
  sluice_set_message_handler(hear, heard);
  OK(sluice_open_serial(in_folder("told.h5"), "w", "durability = \"none\"\nlog = \"line\"", &out));
  OK(sluice_define(out, "v", SLUICE_FLOAT64, 1, shape, NULL, &v));
  OK(sluice_put(out, v, SLUICE_FLOAT64, data, 1, NULL, NULL));
  OK(sluice_close(out));
  sluice_free(out);
  sluice_set_message_handler(NULL, NULL);
  CHECK(strstr(heard, "told.h5: 0 steps, 7.8 KiB: visible ") != NULL);
}

/* A step that is lost with a handle is named, once, unless nothing is to be said. */
static void check_freed_in_a_step(void) {
  const char* const logs[2] = {"log = \"line\"", "log = \"off\""};
  for (int quiet = 0; quiet < 2; ++quiet) {
    char heard[512] = "";
    sluice_file* out = NULL;
    sluice_set_message_handler(hear, heard);
    OK(sluice_open_serial(in_folder("freed.h5"), "w", logs[quiet], &out));
    OK(sluice_begin_step(out, 0));
    sluice_free(out);
    sluice_set_message_handler(NULL, NULL);
    const char* const wanted = "freed.h5: was freed before its close: step 0, which had not ended";
    CHECK(quiet ? heard[0] == 0 : strstr(heard, wanted) != NULL);
  }
}

/* A transposed, reversed view of every second element, small and larger than a small put. */
static void check_strides(int64_t rows, int64_t columns) {
  sluice_file* file = NULL;
  char path[512];
  snprintf(path, sizeof path, "%s", in_folder("strides.h5"));
  const int64_t shape[2] = {rows, columns};
  double* memory = calloc((size_t)(2 * rows * columns), sizeof(double));
  double* back = calloc((size_t)(2 * rows * columns), sizeof(double));
  for (int64_t i = 0; i < 2 * rows * columns; ++i) {
    memory[i] = (double)i;
  }
  /* element (r, c) lies at 2 * (c * rows + rows - 1 - r) */
  const int64_t stride_bytes[2] = {-2 * (int64_t)sizeof(double),
                                   2 * rows * (int64_t)sizeof(double)};
  sluice_selection all = SLUICE_SELECTION_INIT;
  all.stride_bytes = stride_bytes;
  sluice_variable x = -1;
  OK(sluice_open_serial(path, "w", options, &file));
  OK(sluice_define(file, "x", SLUICE_FLOAT64, 2, shape, NULL, &x));
  OK(sluice_put_selection(file, x, SLUICE_FLOAT64, &memory[2 * (rows - 1)], 2, &all));
  memory[2 * (rows - 1)] = -1; /* copied at once */
  OK(sluice_close(file));
  sluice_free(file);
  OK(sluice_open_serial(path, "r", NULL, &file));
  double* dense = calloc((size_t)(rows * columns), sizeof(double));
  OK(sluice_get(file, x, SLUICE_FLOAT64, dense, 2, NULL, NULL, 0));
  OK(sluice_get_selection(file, x, SLUICE_FLOAT64, &back[2 * (rows - 1)], 2, &all, 0));
  int wrong = 0;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t at = 2 * (c * rows + rows - 1 - r);
      wrong += dense[r * columns + c] != (double)at || back[at] != (double)at || back[at + 1] != 0;
    }
  }
  CHECK(wrong == 0);
  OK(sluice_close(file));
  sluice_free(file);
  free(memory);
  free(back);
  free(dense);
}

static void check_varying(void) {
  sluice_file* file = NULL;
  char path[512];
  snprintf(path, sizeof path, "%s", in_folder("varying.h5"));
  const int64_t most[1] = {10};
  sluice_variable x = -1;
  sluice_variable_options wanted = SLUICE_VARIABLE_OPTIONS_INIT;
  wanted.steps = 1;
  wanted.varying = 1;
  OK(sluice_open_serial(path, "w", options, &file));
  OK(sluice_define(file, "x", SLUICE_INT64, 1, most, &wanted, &x));
  for (int64_t step = 0; step < 3; ++step) {
    OK(sluice_begin_step(file, (double)step));
    OK(sluice_resize(file, x, 3 * step));
    for (int64_t i = 0; i < 3 * step; ++i) {
      OK(sluice_put_value(file, x, SLUICE_INT64, &i, 1, &i));
    }
    OK(sluice_end_step(file, NULL));
  }
  FAILS(sluice_resize(file, x, 2), SLUICE_ERROR_WRONG_STATE, "step");
  CHECK(sluice_flush(file, NULL) == SLUICE_ERROR_WRONG_STATE); /* the failed call counts */
  OK(sluice_close(file));
  sluice_free(file);
  OK(sluice_open_serial(path, "r", NULL, &file));
  for (int64_t step = 0; step < 3; ++step) {
    int64_t rows = -1, got[10];
    OK(sluice_shape(file, x, step, 1, &rows));
    CHECK(rows == 3 * step);
    OK(sluice_get(file, x, SLUICE_INT64, got, 1, NULL, NULL, step));
    for (int64_t i = 0; i < rows; ++i) {
      CHECK(got[i] == i);
    }
  }
  OK(sluice_close(file));
  sluice_free(file);
}

enum { threads = 4, files_each = 20 };

static void* work(void* number) {
  const int64_t shape[1] = {100}, me = *(const int*)number;
  for (int64_t f = 0; f < files_each; ++f) {
    char path[600];
    snprintf(path, sizeof path, "%s/thread-%d.h5", check_folder, (int)me);
    sluice_file* file = NULL;
    sluice_variable x = -1;
    int64_t data[100], got[100];
    for (int64_t i = 0; i < 100; ++i) {
      data[i] = 1000 * me + f + i;
    }
    OK(sluice_open_serial(path, "w", options, &file));
    OK(sluice_define(file, "x", SLUICE_INT64, 1, shape, NULL, &x));
    OK(sluice_put(file, x, SLUICE_INT64, data, 1, NULL, NULL));
    OK(sluice_close(file));
    sluice_free(file);
    OK(sluice_open_serial(path, "r", NULL, &file));
    OK(sluice_get(file, x, SLUICE_INT64, got, 1, NULL, NULL, 0));
    CHECK(memcmp(data, got, sizeof data) == 0);
    sluice_free(file); /* still open: dropped */
    FAILS(sluice_open_serial("/nowhere/at/all.h5", "r", NULL, &file), SLUICE_ERROR_NOT_FOUND,
          "nowhere");
  }
  return NULL;
}

static void check_threads(void) {
  pthread_t started[threads];
  int numbers[threads];
  for (int t = 0; t < threads; ++t) {
    numbers[t] = t;
    CHECK(pthread_create(&started[t], NULL, work, &numbers[t]) == 0);
  }
  for (int t = 0; t < threads; ++t) {
    CHECK(pthread_join(started[t], NULL) == 0);
  }
}

/* A file that is given back without close holds what was committed, and nothing else. */
static void check_dropping(void) {
  sluice_file* file = NULL;
  char path[512];
  snprintf(path, sizeof path, "%s", in_folder("dropped.h5"));
  const int64_t shape[1] = {2};
  const int32_t data[2] = {1, 2};
  sluice_variable x = -1;
  OK(sluice_open_serial(path, "w", options, &file));
  OK(sluice_define(file, "x", SLUICE_INT32, 1, shape, NULL, &x));
  OK(sluice_put(file, x, SLUICE_INT32, data, 1, NULL, NULL));
  sluice_free(file);
  CHECK(access(path, F_OK) != 0);
  FAILS(sluice_open_serial(path, "r", NULL, &file), SLUICE_ERROR_NOT_FOUND, "dropped");
}

int main(void) {
  make_folder();
  check_refresh();
  check_strides(5, 3);
  check_strides(300, 70);
  check_varying();
  check_threads();
  check_dropping();
  check_messages();
  check_freed_in_a_step();
  int started = 1;
  MPI_Initialized(&started);
  CHECK(started == 0);
  remove_folder();
  return check_failures != 0;
}
