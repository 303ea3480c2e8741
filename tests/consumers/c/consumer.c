/* Writes three steps, each rank its part, and reads the neighbour's part back. */
#include <sluice/sluice.h>
#include <stdio.h>

#define EACH 1000
#define CHECK(call)                                                \
  do {                                                             \
    if ((call) != SLUICE_OK) {                                     \
      fprintf(stderr, "%s: %s\n", #call, sluice_last_error(NULL)); \
      return 1;                                                    \
    }                                                              \
  } while (0)

static double value(int rank, int i, int step) { return rank * 1e6 + i + step * 0.5; }

static int write_file(const char* path, int rank, int ranks) {
  sluice_file* out = NULL;
  sluice_variable x = 0;
  sluice_variable_options options = SLUICE_VARIABLE_OPTIONS_INIT;
  const int64_t shape[1] = {(int64_t)EACH * ranks};
  const int64_t start[1] = {(int64_t)EACH * rank};
  const int64_t count[1] = {EACH};
  double mine[EACH];
  options.steps = 1;
  options.unit = "nm";
  CHECK(sluice_open(MPI_COMM_WORLD, path, "w", "strategy = \"collective\"", &out));
  CHECK(sluice_define(out, "x", SLUICE_FLOAT64, 1, shape, &options, &x));
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < EACH; ++i) {
      mine[i] = value(rank, i, step);
    }
    CHECK(sluice_begin_step(out, 0.1 * step));
    CHECK(sluice_put(out, x, SLUICE_FLOAT64, mine, 1, start, count));
    CHECK(sluice_end_step(out, NULL));
  }
  CHECK(sluice_close(out));
  sluice_free(out);
  return 0;
}

static int read_file(const char* path, int rank, int ranks) {
  sluice_file* in = NULL;
  sluice_variable x = 0;
  const int other = (rank + 1) % ranks;
  const int64_t start[1] = {(int64_t)EACH * other};
  const int64_t count[1] = {EACH};
  double theirs[EACH];
  CHECK(sluice_open(MPI_COMM_WORLD, path, "r", NULL, &in));
  CHECK(sluice_find(in, "x", &x));
  CHECK(sluice_get(in, x, SLUICE_FLOAT64, theirs, 1, start, count, SLUICE_LAST_STEP));
  CHECK(sluice_close(in));
  sluice_free(in);
  for (int i = 0; i < EACH; ++i) {
    if (theirs[i] != value(other, i, 2)) {
      fprintf(stderr, "rank %d read %g at %d\n", rank, theirs[i], i);
      return 1;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 1;
  int failed = 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 2) {
    failed = write_file(argv[1], rank, ranks) || read_file(argv[1], rank, ranks);
  }
  MPI_Finalize();
  return failed;
}
