/* What a program may do wrong: each is a clear error, none a crash, and the file stays right. */
#include <sluice/checkpoint.h>
#include <sluice/records.h>
#include <sluice/sluice.h>
#include <sys/stat.h>

#include "check.h"

static int rank, ranks;
static const char* const options = "durability = \"none\"\ntimeout_s = 20";
static char path[512];

static sluice_file* open_file(const char* mode) {
  sluice_file* file = NULL;
  OK(sluice_open(MPI_COMM_WORLD, path, mode, options, &file));
  return file;
}

static void check_opening(void) {
  sluice_file* file = NULL;
  FAILS(sluice_open(MPI_COMM_WORLD, in_folder("none.h5"), "r", NULL, &file), SLUICE_ERROR_NOT_FOUND,
        "none.h5");
  CHECK(file == NULL && sluice_last_error_code(NULL) == SLUICE_ERROR_NOT_FOUND);
  FAILS(sluice_open(MPI_COMM_WORLD, path, "rw", NULL, &file), SLUICE_ERROR_INVALID_ARGUMENT,
        "r, w, x, a");
  FAILS(sluice_open(MPI_COMM_WORLD, path, "w", "strategie = \"serial\"", &file),
        SLUICE_ERROR_INVALID_ARGUMENT, "strategie");
  FAILS(sluice_open(MPI_COMM_WORLD, NULL, "w", NULL, &file), SLUICE_ERROR_INVALID_ARGUMENT, "path");
  FAILS(sluice_open(MPI_COMM_WORLD, path, "w", NULL, NULL), SLUICE_ERROR_INVALID_ARGUMENT,
        "handle");
  FAILS(sluice_open(MPI_COMM_NULL, path, "w", NULL, &file), SLUICE_ERROR_INVALID_ARGUMENT,
        "MPI_COMM_NULL");
}

/* Each wrong call fails at once with its reason, and so does the step, on every rank. */
static void fail_step(sluice_file* out, int which, sluice_variable x, sluice_variable fixed) {
  const int64_t start[2] = {2 * rank, 0}, count[2] = {2, 3}, far[2] = {2 * ranks, 0};
  const int64_t back[2] = {-1, 0};
  const double data[6] = {0};
  const char text[8] = "text";
  const sluice_type f64 = SLUICE_FLOAT64;
  OK(sluice_begin_step(out, 0));
  switch (which) {
    case 0:
      FAILS(sluice_put(out, x, f64, data, 1, start, count), SLUICE_ERROR_INVALID_ARGUMENT,
            "1 dimensions");
      break;
    case 1:
      FAILS(sluice_put(out, x, SLUICE_STRING(8), text, 2, start, count), SLUICE_ERROR_TYPE_MISMATCH,
            "string[8]");
      break;
    case 2:
      FAILS(sluice_put(out, x, f64, data, 2, far, count), SLUICE_ERROR_OUT_OF_BOUNDS, "outside");
      break;
    case 3:
      FAILS(sluice_put(out, x, f64, data, 2, back, count), SLUICE_ERROR_INVALID_ARGUMENT, "-1");
      break;
    case 4:
      FAILS(sluice_put(out, 99, f64, data, 2, start, count), SLUICE_ERROR_INVALID_ARGUMENT,
            "no variable 99");
      break;
    case 5:
      FAILS(sluice_put(out, x, f64, NULL, 2, start, count), SLUICE_ERROR_INVALID_ARGUMENT, "null");
      break;
    case 6:
      FAILS(sluice_put(out, x, 77, data, 2, start, count), SLUICE_ERROR_INVALID_ARGUMENT,
            "not a sluice_type");
      break;
    case 7:
      FAILS(sluice_put_value(out, x, f64, data, 2, NULL), SLUICE_ERROR_INVALID_ARGUMENT, "NULL");
      break;
    case 8:
      FAILS(sluice_put_rows(out, x, f64, data, -1, start), SLUICE_ERROR_INVALID_ARGUMENT, "-1");
      break;
    case 9:
      FAILS(sluice_put_joined(out, x, f64, data, -1), SLUICE_ERROR_INVALID_ARGUMENT, "-1");
      break;
    case 10:
      FAILS(sluice_put_joined(out, fixed, f64, data, 1), SLUICE_ERROR_INVALID_ARGUMENT, "varying");
      break;
    case 11:
      FAILS(sluice_begin_step(out, 1), SLUICE_ERROR_WRONG_STATE, "has not ended");
      break;
    default:
      FAILS(sluice_resize(out, fixed, 1), SLUICE_ERROR_INVALID_ARGUMENT, "fixed");
  }
  CHECK(strlen(sluice_last_error(out)) > 10 && sluice_last_error_code(out) != SLUICE_OK);
  CHECK(sluice_end_step(out, NULL) != SLUICE_OK);
}

enum { wrong_calls = 13 };

/* After all the failures the file takes a step; and what is closed stays closed. */
static void check_steps_and_end(sluice_file* out, sluice_variable x, sluice_variable fixed) {
  const int64_t start[2] = {2 * rank, 0}, count[2] = {2, 3};
  const double data[6] = {1, 2, 3, 4, 5, 6};
  OK(sluice_begin_step(out, 1));
  OK(sluice_put(out, x, SLUICE_FLOAT64, data, 2, start, count));
  FAILS(sluice_close(out), SLUICE_ERROR_WRONG_STATE, "step 0 has not ended");
  OK(sluice_end_step(out, NULL));

  /* One rank cannot go on with its step: every rank's end says why. */
  OK(sluice_begin_step(out, 2));
  if (rank == ranks - 1) {
    OK(sluice_abandon_step(out, "the solver diverged"));
  } else {
    FAILS(sluice_end_step(out, NULL), SLUICE_ERROR_WRONG_STATE, "the solver diverged");
    CHECK(sluice_last_error_rank(out) == ranks - 1);
  }
  OK(sluice_put(out, fixed, SLUICE_FLOAT64, data, 2, start, count));
  OK(sluice_close(out));
  FAILS(sluice_close(out), SLUICE_ERROR_WRONG_STATE, "closed already");
  FAILS(sluice_begin_step(out, 3), SLUICE_ERROR_WRONG_STATE, "closed");
  FAILS(sluice_put(out, x, SLUICE_FLOAT64, data, 2, start, count), SLUICE_ERROR_WRONG_STATE,
        "closed");
  FAILS(sluice_end_step(out, NULL), SLUICE_ERROR_WRONG_STATE, "closed");
  FAILS(sluice_abandon_step(out, NULL), SLUICE_ERROR_WRONG_STATE, "closed");
  sluice_free(out);
  FAILS(sluice_close(out), SLUICE_ERROR_WRONG_STATE, "its handle was freed");
  FAILS(sluice_put(out, x, SLUICE_FLOAT64, data, 2, start, count), SLUICE_ERROR_WRONG_STATE,
        "its handle was freed");
  FAILS(sluice_close(NULL), SLUICE_ERROR_INVALID_ARGUMENT, "NULL");
  sluice_free(NULL);
}

static void check_writing(void) {
  sluice_file* out = open_file("w");
  const int64_t shape[2] = {2 * ranks, 3}, start[2] = {2 * rank, 0}, count[2] = {2, 3};
  const int64_t negative[2] = {-4, 3};
  const double data[6] = {1, 2, 3, 4, 5, 6};
  sluice_variable x = -1, fixed = -1, other = -1;
  sluice_variable_options steps = SLUICE_VARIABLE_OPTIONS_INIT;
  steps.steps = 1;
  OK(sluice_define(out, "x", SLUICE_FLOAT64, 2, shape, &steps, &x));
  OK(sluice_define(out, "fixed", SLUICE_FLOAT64, 2, shape, NULL, &fixed));

  FAILS(sluice_put(out, x, SLUICE_FLOAT64, data, 2, start, count), SLUICE_ERROR_WRONG_STATE,
        "begin_step");
  CHECK(sluice_flush(out, NULL) == SLUICE_ERROR_WRONG_STATE);
  FAILS(sluice_end_step(out, NULL), SLUICE_ERROR_WRONG_STATE, "no step under way");
  for (int which = 0; which < wrong_calls; ++which) {
    fail_step(out, which, x, fixed);
  }
  FAILS(sluice_define(out, "y", SLUICE_FLOAT64, 2, negative, NULL, &other),
        SLUICE_ERROR_INVALID_ARGUMENT, "-4");
  CHECK(sluice_flush(out, NULL) == SLUICE_ERROR_INVALID_ARGUMENT);
  FAILS(sluice_define(out, "../y", SLUICE_FLOAT64, 2, shape, NULL, &other), SLUICE_ERROR_BAD_NAME,
        "..");
  CHECK(sluice_flush(out, NULL) == SLUICE_ERROR_BAD_NAME);
  FAILS(sluice_define(out, "x", SLUICE_INT8, 2, shape, &steps, &other), SLUICE_ERROR_EXISTS, "x");
  CHECK(sluice_flush(out, NULL) == SLUICE_ERROR_EXISTS);
  steps.size = 3;
  FAILS(sluice_define(out, "z", SLUICE_INT8, 2, shape, &steps, &other),
        SLUICE_ERROR_INVALID_ARGUMENT, "_INIT");
  CHECK(sluice_flush(out, NULL) == SLUICE_ERROR_INVALID_ARGUMENT);
  FAILS(sluice_get(out, x, SLUICE_FLOAT64, (void*)data, 2, start, count, 0),
        SLUICE_ERROR_WRONG_STATE, "writing");
  check_steps_and_end(out, x, fixed);
}

/* What an interface of another language has found wrong, and how it counts. */
static void check_interfaces(sluice_file* in, sluice_variable x) {
  const int64_t start[2] = {2 * rank, 0}, count[2] = {2, 3};
  double data[6] = {0};
  const int is_wrong = rank == ranks - 1;
  if (is_wrong) {
    OK(sluice_refuse(in, SLUICE_ERROR_NOT_FOUND, "no variable z"));
  }
  FAILS(sluice_get(in, x, SLUICE_FLOAT64, data, 2, start, count, 0), SLUICE_ERROR_NOT_FOUND,
        "errors.h5: no variable z");
  OK(sluice_refuse(in, SLUICE_ERROR_NOT_FOUND, "no variable z"));
  FAILS(sluice_put(in, x, SLUICE_FLOAT64, data, 2, start, count), SLUICE_ERROR_WRONG_STATE,
        "reading");
  OK(sluice_get(in, x, SLUICE_FLOAT64, data, 2, start, count, 0));
  OK(sluice_count_from(in, 1));
  FAILS(sluice_get(in, x, SLUICE_FLOAT64, data, 2, start, count, 1), SLUICE_ERROR_OUT_OF_BOUNDS,
        "step 2 of 1");
  FAILS(sluice_get(in, x, SLUICE_FLOAT64, data, 2, start, count, -2), SLUICE_ERROR_OUT_OF_BOUNDS,
        "step 0 of 1");
  OK(sluice_count_from(in, 0));
}

static void check_reading(void) {
  sluice_file* in = open_file("r");
  const int64_t start[2] = {2 * rank, 0}, count[2] = {2, 3}, far[2] = {2 * ranks, 0};
  double data[6] = {0};
  int64_t steps = 0;
  sluice_variable x = -1;
  OK(sluice_steps(in, &steps));
  CHECK(steps == 1);
  OK(sluice_find(in, "x", &x));
  FAILS(sluice_find(in, "y", &x), SLUICE_ERROR_NOT_FOUND, "fixed");
  OK(sluice_find(in, "x", &x));
  OK(sluice_get(in, x, SLUICE_FLOAT64, data, 2, start, count, 0));
  CHECK(data[0] == 1 && data[5] == 6);
  FAILS(sluice_get(in, x, SLUICE_FLOAT64, data, 2, start, count, 1), SLUICE_ERROR_OUT_OF_BOUNDS,
        "step 1 of 1");
  FAILS(sluice_get(in, x, SLUICE_FLOAT64, data, 2, start, count, -2), SLUICE_ERROR_OUT_OF_BOUNDS,
        "step -2 of 1");
  FAILS(sluice_get(in, -1, SLUICE_FLOAT64, data, 2, start, count, 0), SLUICE_ERROR_INVALID_ARGUMENT,
        "no variable -1");
  FAILS(sluice_begin_step(in, 0), SLUICE_ERROR_WRONG_STATE, "reading");

  /* What one rank asks wrongly, the others need not wait for. */
  const int is_wrong = rank == ranks - 1;
  FAILS(sluice_get(in, x, SLUICE_FLOAT64, data, is_wrong ? 1 : 2, start, count, 0),
        SLUICE_ERROR_INVALID_ARGUMENT, "1 dimensions");
  FAILS(sluice_get(in, x, SLUICE_FLOAT64, data, 2, is_wrong ? far : start, count, 0),
        SLUICE_ERROR_OUT_OF_BOUNDS, "outside");
  FAILS(sluice_get(in, x, is_wrong ? SLUICE_STRING(3) : SLUICE_FLOAT64, data, 2, start, count, 0),
        SLUICE_ERROR_TYPE_MISMATCH, "string[3]");
  FAILS(sluice_get(in, x, SLUICE_FLOAT64, is_wrong ? NULL : data, 2, start, count, 0),
        SLUICE_ERROR_INVALID_ARGUMENT, "null");
  const int64_t ids[1] = {is_wrong ? -1 : 0};
  CHECK(sluice_get_rows(in, x, SLUICE_FLOAT64, data, 1, ids, 0) == SLUICE_ERROR_OUT_OF_BOUNDS);
  OK(sluice_get(in, x, SLUICE_FLOAT64, data, 2, start, count, SLUICE_LAST_STEP));

  check_interfaces(in, x);

  /* The same later, with others; and what one rank defers wrongly fails on all. */
  sluice_selection part = SLUICE_SELECTION_INIT;
  double later[6] = {0}, all[1] = {0};
  part.start = start;
  part.count = count;
  OK(sluice_defer_get(in, x, SLUICE_FLOAT64, later, 2, &part, SLUICE_LAST_STEP));
  CHECK(later[0] == 0);
  OK(sluice_perform_gets(in));
  CHECK(memcmp(later, data, sizeof data) == 0);
  part.stride_bytes = far;
  FAILS(sluice_defer_get(in, x, SLUICE_FLOAT64, later, 2, &part, 0), SLUICE_ERROR_UNSUPPORTED,
        "stride_bytes");
  FAILS(sluice_perform_gets(in), SLUICE_ERROR_UNSUPPORTED, "stride_bytes");
  part.stride_bytes = NULL;
  part.start = is_wrong ? far : start;
  const int deferred = sluice_defer_get(in, x, SLUICE_FLOAT64, is_wrong ? all : later, 2, &part, 0);
  CHECK(deferred == (is_wrong ? SLUICE_ERROR_OUT_OF_BOUNDS : SLUICE_OK));
  FAILS(sluice_perform_gets(in), SLUICE_ERROR_OUT_OF_BOUNDS, "outside");
  OK(sluice_perform_gets(in));
  OK(sluice_close(in));
  sluice_free(in);
}

/* One rank frees a file that it writes because of an error of its own. */
static void check_freed_because(void) {
  const int64_t shape[1] = {3};
  sluice_variable x = 0;
  sluice_file* out = open_file("w");
  FAILS(sluice_free_because(NULL, "why"), SLUICE_ERROR_INVALID_ARGUMENT, "NULL");
  FAILS(sluice_free_because(out, NULL), SLUICE_ERROR_INVALID_ARGUMENT, "NULL");
  OK(sluice_define(out, "x", SLUICE_FLOAT64, 1, shape, NULL, &x));
  OK(sluice_flush(out, NULL));
  if (rank == ranks - 1 && rank != 0) {
    OK(sluice_free_because(out, "it has no heat left"));
  } else if (ranks != 1) {
    FAILS(sluice_flush(out, NULL), SLUICE_ERROR_WRONG_STATE,
          "was abandoned before its close: it has no heat left");
    CHECK(sluice_failed_together(out) == 1);
  }
  sluice_free(out);
}

/* What a refused call leaves is still there for the commit. */
static void check_refused_commits(void) {
  enum { rows = 3000 };
  const int64_t shape[1] = {(int64_t)rows * ranks}, start[1] = {(int64_t)rows * rank};
  const int64_t count[1] = {rows}, stride_bytes[1] = {2 * sizeof(double)};
  sluice_variable_options in_steps = SLUICE_VARIABLE_OPTIONS_INIT;
  sluice_selection part = SLUICE_SELECTION_INIT;
  sluice_variable x = 0;
  static double data[2 * rows], got[rows];
  void* reused[20];
  sluice_file* out = open_file("w");
  in_steps.steps = 1;
  OK(sluice_define(out, "x", SLUICE_FLOAT64, 1, shape, &in_steps, &x));
  for (int i = 0; i < 2 * rows; ++i) data[i] = 10000. * rank + i;
  CHECK(sluice_holds_memory(out) == 0);
  OK(sluice_begin_step(out, 0));
  part.start = start;
  part.count = count;
  part.stride_bytes = stride_bytes;
  OK(sluice_put_selection(out, x, SLUICE_FLOAT64, data, 1, &part));
  FAILS(sluice_flush(out, NULL), SLUICE_ERROR_WRONG_STATE, "end the step");
  FAILS(sluice_close(out), SLUICE_ERROR_WRONG_STATE, "end it first");
  CHECK(sluice_holds_memory(out) == 1 && sluice_failed_together(out) == 0);
  for (int i = 0; i < 20; ++i) {
    reused[i] = malloc(sizeof got);
    memset(reused[i], 0x55, sizeof got);
  }
  OK(sluice_end_step(out, NULL));
  CHECK(sluice_holds_memory(out) == 0);
  for (int i = 0; i < 20; ++i) free(reused[i]);
  FAILS(sluice_end_step(out, NULL), SLUICE_ERROR_WRONG_STATE, "no step");
  OK(sluice_close(out));
  sluice_free(out);
  sluice_file* in = open_file("r");
  OK(sluice_find(in, "x", &x));
  OK(sluice_get(in, x, SLUICE_FLOAT64, got, 1, start, count, 0));
  for (int i = 0; i < rows; ++i) CHECK(got[i] == 10000. * rank + 2 * i);
  OK(sluice_close(in));
  sluice_free(in);
}

/* Who looks at the end of a step only learns why it was never begun. */
static void check_step_not_begun(void) {
  sluice_file* out = NULL;
  OK(sluice_open(MPI_COMM_WORLD, in_folder("times.npy"), "w", options, &out));
  FAILS(sluice_begin_step(out, 1.5), SLUICE_ERROR_UNSUPPORTED, "holds no times");
  FAILS(sluice_end_step(out, NULL), SLUICE_ERROR_UNSUPPORTED, "holds no times");
  FAILS(sluice_end_step(out, NULL), SLUICE_ERROR_WRONG_STATE, "no step under way");
  sluice_free(out);
}

/* A message names the file once, also where its path is relative. */
static void check_relative_path(void) {
  const int64_t shape[1] = {-1};
  char before[512];
  sluice_file* out = NULL;
  sluice_variable x = -1;
  CHECK(getcwd(before, sizeof before) != NULL && chdir(check_folder) == 0);
  OK(sluice_open(MPI_COMM_WORLD, "relative.h5", "w", "durability = \"none\"", &out));
  FAILS(sluice_define(out, "x", SLUICE_FLOAT64, 1, shape, NULL, &x), SLUICE_ERROR_INVALID_ARGUMENT,
        "relative.h5: define x");
  char wanted[600];
  snprintf(wanted, sizeof wanted, "rank 0: %s: define x", in_folder("relative.h5"));
  FAILS(sluice_flush(out, NULL), SLUICE_ERROR_INVALID_ARGUMENT, wanted);
  OK(sluice_close(out));
  sluice_free(out);
  CHECK(chdir(before) == 0);
}

/* A device, here a pipe, is not replaced by a file. */
static void check_pipe(void) {
  struct stat status;
  sluice_file* out = NULL;
  if (rank == 0) CHECK(mkfifo(in_folder("pipe.h5"), 0600) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(sluice_open(MPI_COMM_WORLD, in_folder("pipe.h5"), "w", options, &out));
  FAILS(sluice_flush(out, NULL), SLUICE_ERROR_IO, "pipe.h5: is neither a file nor a folder");
  FAILS(sluice_close(out), SLUICE_ERROR_IO, "is neither a file nor a folder");
  sluice_free(out);
  CHECK(stat(in_folder("pipe.h5"), &status) == 0 && S_ISFIFO(status.st_mode));
}

/* A refused put fails also where it follows the one before. */
static void check_refused_puts(void) {
  const int64_t shape[1] = {2};
  const double values[2] = {1, 2};
  sluice_file* out = open_file("w");
  sluice_variable x = -1;
  OK(sluice_define(out, "x", SLUICE_FLOAT64, 1, shape, NULL, &x));
  FAILS(sluice_set_attribute(out, "", "a", SLUICE_INT8, INT64_MAX, values),
        SLUICE_ERROR_INVALID_ARGUMENT, "9223372036854775807 values");
  FAILS(sluice_flush(out, NULL), SLUICE_ERROR_INVALID_ARGUMENT, "9223372036854775807 values");
  for (int64_t at = 0; rank == 0 && at < 2; ++at) {
    if (at == 1) OK(sluice_refuse(out, SLUICE_ERROR_UNSUPPORTED, "no such place"));
    const int code = sluice_put_value(out, x, SLUICE_FLOAT64, &values[at], 1, &at);
    CHECK(code == (at == 1 ? SLUICE_ERROR_UNSUPPORTED : SLUICE_OK));
  }
  FAILS(sluice_flush(out, NULL), SLUICE_ERROR_UNSUPPORTED, "no such place");
  OK(sluice_close(out));
  sluice_free(out);
}

/* What the last rank alone gets wrong in a collective call, all get. */
static void check_last_rank(void) {
  const int is_last = rank == ranks - 1;
  sluice_file* file = NULL;
  sluice_records* records = NULL;
  sluice_checkpoint* checkpoint = NULL;
  sluice_session_file* sessions = NULL;
  char* text = NULL;
  FAILS(sluice_open(MPI_COMM_WORLD, path, "w", options, is_last ? NULL : &file),
        SLUICE_ERROR_INVALID_ARGUMENT, "handle is NULL");
  FAILS(sluice_records_open(MPI_COMM_WORLD, path, "w", options, is_last ? NULL : &records),
        SLUICE_ERROR_INVALID_ARGUMENT, "handle is NULL");
  FAILS(sluice_checkpoint_open(MPI_COMM_WORLD, path, NULL, is_last ? NULL : &checkpoint),
        SLUICE_ERROR_INVALID_ARGUMENT, "handle is NULL");
  FAILS(sluice_session_file_open(MPI_COMM_WORLD, path, "w", options, is_last ? NULL : &sessions),
        SLUICE_ERROR_INVALID_ARGUMENT, "handle is NULL");
  FAILS(sluice_read_text(MPI_COMM_WORLD, is_last ? NULL : path, &text, NULL),
        SLUICE_ERROR_INVALID_ARGUMENT, "path is NULL");
  CHECK(file == NULL && records == NULL && checkpoint == NULL && sessions == NULL && text == NULL);

  snprintf(path, sizeof path, "%s", in_folder("last_rank.rec"));
  OK(sluice_records_open(MPI_COMM_WORLD, path, "w", options, &records));
  OK(sluice_records_commit(records, NULL));
  OK(sluice_records_close(records));
  sluice_records_free(records);
  OK(sluice_records_open(MPI_COMM_WORLD, path, "r", options, &records));
  FAILS(sluice_records_fetch(records, is_last ? 7 : 0), SLUICE_ERROR_OUT_OF_BOUNDS, "group 7 of 1");
  FAILS(sluice_records_fetch(records, is_last ? -5 : 0), SLUICE_ERROR_OUT_OF_BOUNDS,
        "group -5 of 1");
  OK(sluice_records_fetch(records, 0));
  /* At the end, too. */
  FAILS(sluice_records_fetch(records, is_last ? 7 : -1), SLUICE_ERROR_OUT_OF_BOUNDS,
        is_last ? " of 1, counted from 0" : "no further record group");
  OK(sluice_records_close(records));
  sluice_records_free(records);

  int64_t good = -1;
  OK(sluice_open(MPI_COMM_WORLD, path, "r", options, &file));
  const int code = sluice_latest_good(file, is_last ? NULL : &good);
  CHECK(code == (is_last ? SLUICE_ERROR_INVALID_ARGUMENT : SLUICE_OK));
  CHECK(good == (is_last ? -1 : 0));
  OK(sluice_latest_good(file, &good));
  OK(sluice_close(file));
  sluice_free(file);
}

int main(int argc, char** argv) {
  sluice_file* early = NULL;
  CHECK(sluice_open_f(0, "early.h5", "w", NULL, &early) != SLUICE_OK && early == NULL);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) {
    make_folder();
  }
  MPI_Bcast(check_folder, (int)sizeof check_folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s", in_folder("errors.h5"));
  check_opening();
  check_freed_because();
  check_refused_commits();
  check_relative_path();
  check_step_not_begun();
  check_pipe();
  check_refused_puts();
  check_last_rank();
  snprintf(path, sizeof path, "%s", in_folder("errors.h5"));
  check_writing();
  check_reading();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    remove_folder();
  }
  MPI_Finalize();
  return check_failures != 0;
}
