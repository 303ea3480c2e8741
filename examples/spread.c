/* Heat spreads along a rod, on any number of ranks, and goes on from its last checkpoint. spread
 * STEPS: prints the sum of the temperatures. spread.cpp, spread.f90 and spread.py do the same. */
#include <mpi.h>
#include <sluice/checkpoint.h>  // 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { cells = 4096 };

static void check(int code) {
  if (!code) return;
  fprintf(stderr, "spread: %s\n", sluice_last_error(NULL));  // 2
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void advance(double* u, double* old, int n, int rank, int ranks) {
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, left, 0, &u[n + 1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&u[n], 1, MPI_DOUBLE, right, 1, &u[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  memcpy(old, u, (n + 2) * sizeof *u);
  for (int i = 1; i <= n; ++i) u[i] = old[i] + 0.25 * (old[i - 1] - 2 * old[i] + old[i + 1]);
}

static double weighted_sum(const double* u, int n, int first, int rank) {
  double all[cells] = {0}, sum = 0;
  for (int i = 0; i < n; ++i) all[first + i] = u[i + 1] * (1 + (first + i) % 7);
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : all, all, cells, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int i = 0; i < cells; ++i) sum += all[i];
  return sum;
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = argc > 1 ? atoi(argv[1]) : 100;
  const int64_t size = cells, first = size * rank / ranks, n = size * (rank + 1) / ranks - first;
  double *u = calloc(n + 2, sizeof *u), *old = calloc(n + 2, sizeof *u);
  for (int i = 0; i < n; ++i) u[i + 1] = (first + i) % 100 == 50 ? 100 : 0;
  int step = 0;
  int32_t yes = 0;
  sluice_checkpoint* state;                                                                 // 3
  sluice_checkpoint_options often = {sizeof often, .interval_calls = 10};                   // 4
  check(sluice_checkpoint_open(MPI_COMM_WORLD, "spread.h5", &often, &state));               // 5
  check(sluice_checkpoint_array(state, "u", SLUICE_FLOAT64, &u[1], 1, &size, &first, &n));  // 6
  check(sluice_checkpoint_value(state, "step", SLUICE_INT32, &step));                       // 7
  check(sluice_checkpoint_restore(state, NULL));                                            // 8
  while (step < steps) {
    advance(u, old, (int)n, rank, ranks);
    ++step;
    if (!sluice_checkpoint_due(state, &yes) && yes) sluice_checkpoint_save(state, step, NULL);  // 9
    if (!sluice_checkpoint_ending(state, &yes) && yes) break;  // 10
  }
  check(sluice_checkpoint_close(state)), sluice_checkpoint_free(state);  // 11
  const double sum = weighted_sum(u, (int)n, (int)first, rank);
  if (rank == 0) printf("%d %.17g\n", step, sum);
  MPI_Finalize();
  return 0;
}
