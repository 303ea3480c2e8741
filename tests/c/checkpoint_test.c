/* Checkpoints by the C interface, on some ranks: what was saved comes back, mistakes are codes. */
#include <mpi.h>
#include <sluice/checkpoint.h>

#include "check.h"

enum { rows_each = 4, columns = 6 };
static int rank, ranks;
static char path[512];

struct state {
  double field[rows_each + 2][columns]; /* with a ghost row at either end */
  float rows[2][3];
  int64_t ids[2];
  int32_t step;
  char note[16];
  uint32_t generator[2];
};

static void fill(struct state* s, int key) {
  memset(s, 0, sizeof *s);
  for (int i = 1; i <= rows_each; ++i) {
    for (int j = 0; j < columns; ++j) s->field[i][j] = 1000 * key + 100 * rank + 10 * i + j;
  }
  for (int i = 0; i < 2; ++i) {
    s->ids[i] = i * ranks + (ranks - 1 - rank);
    for (int j = 0; j < 3; ++j) s->rows[i][j] = (float)(100 * key + 10 * s->ids[i] + j);
  }
  s->step = key;
  snprintf(s->note, sizeof s->note, "key %d", key);
  s->generator[0] = (uint32_t)(key + rank);
}

static void add(sluice_checkpoint* c, struct state* s) {
  const int64_t shape[2] = {(int64_t)rows_each * ranks, columns};
  const int64_t start[2] = {(int64_t)rows_each * rank, 0}, count[2] = {rows_each, columns};
  const int64_t memory_shape[2] = {rows_each + 2, columns}, memory_start[2] = {1, 0};
  const int64_t rows_shape[2] = {2 * (int64_t)ranks, 3};
  sluice_selection mine = SLUICE_SELECTION_INIT;
  mine.start = start;
  mine.count = count;
  mine.memory_shape = memory_shape;
  mine.memory_start = memory_start;
  OK(sluice_checkpoint_array_selection(c, "field", SLUICE_FLOAT64, s->field, 2, shape, &mine));
  OK(sluice_checkpoint_rows(c, "rows", SLUICE_FLOAT32, s->rows, 2, rows_shape, 2, s->ids));
  OK(sluice_checkpoint_value(c, "step", SLUICE_INT32, &s->step));
  OK(sluice_checkpoint_text(c, "note", s->note, sizeof s->note));
  OK(sluice_checkpoint_bytes(c, "generator", s->generator, sizeof s->generator, 0));
}

static sluice_checkpoint* open_state(const sluice_checkpoint_options* options) {
  sluice_checkpoint* c = NULL;
  OK(sluice_checkpoint_open(MPI_COMM_WORLD, path, options, &c));
  return c;
}

static void check_saving(void) {
  struct state s;
  sluice_checkpoint_options options = SLUICE_CHECKPOINT_OPTIONS_INIT;
  options.interval_calls = 2;
  options.file_options = "durability = \"none\"";
  options.scratch = "$SLUICE_NO_SUCH_VARIABLE";
  sluice_checkpoint* none = NULL;
  FAILS(sluice_checkpoint_open(MPI_COMM_WORLD, path, &options, &none),
        SLUICE_ERROR_INVALID_ARGUMENT, "SLUICE_NO_SUCH_VARIABLE");
  options.scratch = NULL;
  options.keep = SLUICE_KEEP_ALL;
  options.incremental = 1;
  FAILS(sluice_checkpoint_open(MPI_COMM_WORLD, path, &options, &none),
        SLUICE_ERROR_INVALID_ARGUMENT, "incremental");
  options.keep = 2;
  char folder[600];
  snprintf(folder, sizeof folder, "%s.node", path);
  options.scratch = folder;
  fill(&s, 0);
  sluice_checkpoint* c = open_state(&options);
  add(c, &s);
  sluice_restored restored = SLUICE_RESTORED_INIT;
  OK(sluice_checkpoint_restore(c, &restored));
  CHECK(restored.number == 0 && restored.newer == 0 && strcmp(restored.why, "") == 0);
  int saves = 0;
  for (int key = 1; key <= 6; ++key) {
    int32_t due = -1, ending = -1, all = -1;
    fill(&s, key);
    OK(sluice_checkpoint_due(c, &due));
    OK(sluice_checkpoint_ending(c, &ending));
    CHECK(due == (key % 2 == 0) && ending == 0);
    if (due) {
      sluice_saved saved = SLUICE_SAVED_INIT;
      OK(sluice_checkpoint_save(c, 0.5 * key, &saved));
      CHECK(saved.number == ++saves && saved.seconds > 0 && strcmp(saved.why, "") == 0);
      OK(sluice_checkpoint_drain(c, 10, &all));
      CHECK(all == 1);
    }
  }
  OK(sluice_checkpoint_close(c));
  FAILS(sluice_checkpoint_close(c), SLUICE_ERROR_WRONG_STATE, "closed");
  sluice_checkpoint_free(c);
  sluice_checkpoint_free(NULL);
}

static void check_restoring(void) {
  struct state wanted, s;
  fill(&wanted, 6);
  fill(&s, 0);
  sluice_checkpoint* c = open_state(NULL);
  add(c, &s);
  sluice_restored restored = SLUICE_RESTORED_INIT;
  OK(sluice_checkpoint_restore(c, &restored));
  CHECK(restored.number == 3 && restored.time == 3.0 && restored.ranks == ranks);
  CHECK(restored.newer == 0 && strcmp(restored.kept, "") == 0);
  CHECK(memcmp(&s, &wanted, sizeof s) == 0);
  OK(sluice_checkpoint_close(c));
  sluice_checkpoint_free(c);
}

static void check_mistakes(void) {
  double x[4] = {0};
  const int64_t shape[1] = {4}, far[1] = {3}, one[1] = {-1};
  const int64_t gaps[1] = {16}, beyond[1] = {4}, three[1] = {3};
  sluice_selection strided = SLUICE_SELECTION_INIT;
  strided.stride_bytes = gaps;
  sluice_checkpoint* c = open_state(NULL);
  FAILS(sluice_checkpoint_array(NULL, "x", SLUICE_FLOAT64, x, 1, shape, NULL, NULL),
        SLUICE_ERROR_INVALID_ARGUMENT, "NULL");
  FAILS(sluice_checkpoint_array(c, "x", 99, x, 1, shape, NULL, NULL), SLUICE_ERROR_INVALID_ARGUMENT,
        "x");
  FAILS(sluice_checkpoint_array_selection(c, "x", SLUICE_FLOAT64, x, 1, shape, &strided),
        SLUICE_ERROR_UNSUPPORTED, "gaps");
  FAILS(sluice_checkpoint_rows(c, "x", SLUICE_FLOAT64, x, 1, shape, 1, one),
        SLUICE_ERROR_INVALID_ARGUMENT, "id");
  FAILS(sluice_checkpoint_rows(c, "x", SLUICE_FLOAT64, x, 1, shape, 1, beyond),
        SLUICE_ERROR_OUT_OF_BOUNDS, "checkpoint: x: row 4 of 4");
  FAILS(sluice_checkpoint_rows(c, "x", SLUICE_FLOAT64, NULL, 1, shape, 1, far),
        SLUICE_ERROR_INVALID_ARGUMENT, "x: the data is NULL");
  FAILS(sluice_checkpoint_array(c, "x", SLUICE_FLOAT64, x, 1, shape, far, three),
        SLUICE_ERROR_OUT_OF_BOUNDS, "x: block start (3) count (3) is outside shape (4)");
  FAILS(sluice_checkpoint_array(c, "x", SLUICE_FLOAT64, NULL, 1, shape, NULL, NULL),
        SLUICE_ERROR_INVALID_ARGUMENT, "x: the data is NULL");
  FAILS(sluice_checkpoint_value(c, "x", SLUICE_FLOAT64, NULL), SLUICE_ERROR_INVALID_ARGUMENT,
        "NULL");
  FAILS(sluice_checkpoint_text(c, "x", path, 0), SLUICE_ERROR_INVALID_ARGUMENT, "room");
  FAILS(sluice_checkpoint_bytes(c, "x", x, -1, 0), SLUICE_ERROR_INVALID_ARGUMENT, "bytes");
  OK(sluice_checkpoint_array(c, "x", SLUICE_FLOAT64, NULL, 1, shape, beyond, NULL));
  OK(sluice_checkpoint_array(c, "x", SLUICE_FLOAT64, x, 1, shape, far, NULL));
  FAILS(sluice_checkpoint_array(c, "x", SLUICE_INT64, x, 1, shape, NULL, NULL), SLUICE_ERROR_EXISTS,
        "float64");
  FAILS(sluice_checkpoint_restore(c, NULL), SLUICE_ERROR_NOT_FOUND, "x");
  sluice_saved saved = {0, 0, 0, NULL, NULL};
  FAILS(sluice_checkpoint_save(c, 0, &saved), SLUICE_ERROR_INVALID_ARGUMENT, "INIT");
  sluice_checkpoint_free(c);
  c = NULL;
  sluice_checkpoint_options options = SLUICE_CHECKPOINT_OPTIONS_INIT;
  options.keep = -2;
  FAILS(sluice_checkpoint_open(MPI_COMM_WORLD, path, &options, &c), SLUICE_ERROR_INVALID_ARGUMENT,
        "keep");
  FAILS(sluice_checkpoint_open(MPI_COMM_NULL, path, NULL, &c), SLUICE_ERROR_INVALID_ARGUMENT,
        "MPI_COMM_NULL");
  CHECK(c == NULL);
}

/* A name is registered again, with memory that is refused: what it had may be gone. */
static void check_refused_memory(void) {
  double x[4] = {1, 2, 3, 4}, other[8] = {0};
  const int64_t each = 4, all = 4 * (int64_t)ranks, first = 4 * (int64_t)rank, gaps = 16;
  sluice_selection mine = SLUICE_SELECTION_INIT, strided = SLUICE_SELECTION_INIT;
  mine.start = strided.start = &first;
  mine.count = strided.count = &each;
  strided.stride_bytes = &gaps;
  for (int kind = 0; kind < 4; ++kind) {
    sluice_checkpoint* c = NULL;
    sluice_saved saved = SLUICE_SAVED_INIT;
    OK(sluice_checkpoint_open(MPI_COMM_WORLD, in_folder("refused.h5"), NULL, &c));
    OK(sluice_checkpoint_array_selection(c, "x", SLUICE_FLOAT64, x, 1, &all, &mine));
    const int is_here = rank == ranks - 1; /* the others hear of it from the save */
    if (is_here && kind == 0) {
      FAILS(sluice_checkpoint_array_selection(c, "x", SLUICE_FLOAT64, other, 1, &all, &strided),
            SLUICE_ERROR_UNSUPPORTED, "gaps");
    } else if (is_here && kind == 1) {
      FAILS(sluice_checkpoint_rows(c, "x", SLUICE_FLOAT64, NULL, 1, &all, 1, &first),
            SLUICE_ERROR_INVALID_ARGUMENT, "x: the data is NULL");
    } else if (is_here && kind == 2) {
      FAILS(sluice_checkpoint_value(c, "x", 99, other), SLUICE_ERROR_INVALID_ARGUMENT, "99");
    } else if (is_here) {
      FAILS(sluice_checkpoint_array(c, "x", 0, NULL, 0, NULL, NULL, NULL),
            SLUICE_ERROR_INVALID_ARGUMENT, "x: the memory of its last registration was refused");
    }
    const char* const why[] = {"gaps", "is NULL", "99", "was refused"};
    OK(sluice_checkpoint_save(c, 1, &saved));
    CHECK(saved.number == 0 && strstr(saved.why, why[kind]) != NULL);
    OK(sluice_checkpoint_array_selection(c, "x", SLUICE_FLOAT64, other, 1, &all, &mine));
    OK(sluice_checkpoint_save(c, 2, &saved));
    CHECK(saved.number == 1);
    OK(sluice_checkpoint_close(c));
    sluice_checkpoint_free(c);
  }
}

/* As programs fill the struct that name some fields only. */
static void check_defaults(void) {
  const sluice_checkpoint_options some = {sizeof some, .incremental = 1};
  const int64_t kept[2] = {0, SLUICE_KEEP_ALL}, expected[2] = {2, 4};
  char own[600];
  sluice_checkpoint* c = NULL;
  snprintf(own, sizeof own, "%s.%d.kept.h5", path, rank);
  OK(sluice_checkpoint_open_serial(own, &some, &c)); /* which needs a keep */
  sluice_checkpoint_free(c);
  for (int i = 0; i < 2; ++i) {
    const sluice_checkpoint_options options = {sizeof options, .keep = kept[i]};
    sluice_file* in = NULL;
    int32_t step = 0;
    int64_t steps = -1;
    OK(sluice_checkpoint_open_serial(own, &options, &c));
    OK(sluice_checkpoint_value(c, "step", SLUICE_INT32, &step));
    for (; step < 4; ++step) {
      OK(sluice_checkpoint_save(c, step, NULL));
    }
    OK(sluice_checkpoint_close(c));
    sluice_checkpoint_free(c);
    OK(sluice_open_serial(own, "r", NULL, &in));
    OK(sluice_steps(in, &steps));
    CHECK(steps == expected[i]);
    OK(sluice_close(in));
    sluice_free(in);
  }
}

static void check_alone(void) {
  int32_t step = 7;
  char own[600];
  snprintf(own, sizeof own, "%s.%d", path, rank);
  for (int run = 0; run < 2; ++run) {
    sluice_checkpoint* c = NULL;
    sluice_restored restored = SLUICE_RESTORED_INIT;
    OK(sluice_checkpoint_open_serial(own, NULL, &c));
    OK(sluice_checkpoint_value(c, "step", SLUICE_INT32, &step));
    OK(sluice_checkpoint_restore(c, &restored));
    CHECK(restored.number == run && step == 7);
    OK(sluice_checkpoint_save(c, 0, NULL));
    OK(sluice_checkpoint_close(c));
    sluice_checkpoint_free(c);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) make_folder();
  MPI_Bcast(check_folder, sizeof check_folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s", in_folder("state.h5"));
  check_saving();
  check_restoring();
  check_mistakes();
  check_refused_memory();
  check_alone();
  check_defaults();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) remove_folder();
  MPI_Finalize();
  return check_failures != 0;
}
