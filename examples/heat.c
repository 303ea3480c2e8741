/* Heat spreads over a plate, on any number of ranks. heat FILE [FROM]: writes every step to FILE;
 * goes on from the last step of FROM. heat.cpp, heat.f90 and heat.py write the same file. */
#include <mpi.h>
#include <sluice/sluice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rows = 64, columns = 32, steps = 8 };

static void check(int code) {
  if (code != SLUICE_OK) {
    fprintf(stderr, "heat: %s\n", sluice_last_error(NULL));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static int is_heater(int i, int j) { return i == rows / 2 && j >= columns / 4 && j < columns / 2; }

static void sweep(double (*u)[columns], double (*old)[columns], int n, int first) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int down = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(u[1], columns, MPI_DOUBLE, up, 0, u[n + 1], columns, MPI_DOUBLE, down, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(u[n], columns, MPI_DOUBLE, down, 1, u[0], columns, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  memcpy(old, u, (n + 2) * sizeof *u);
  for (int i = 1; i <= n; ++i) {
    for (int j = 1; j < columns - 1; ++j) {
      u[i][j] = old[i][j] + 0.1 * (old[i - 1][j] + old[i + 1][j] + old[i][j - 1] + old[i][j + 1] -
                                   4 * old[i][j]);
      if (is_heater(first + i - 1, j)) u[i][j] = 100;
    }
  }
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > rows) {
    if (rank == 0) fprintf(stderr, "heat: %d ranks for %d rows: use fewer\n", ranks, rows);
    MPI_Finalize();
    return 2;
  }
  const int first = rows * rank / ranks, n = rows * (rank + 1) / ranks - first;
  double(*u)[columns] = calloc(n + 2, sizeof *u), (*old)[columns] = calloc(n + 2, sizeof *u);
  char(*heater)[columns] = malloc(n * sizeof *heater);
  for (int i = 0; i < n * columns; ++i) heater[0][i] = is_heater(first + i / columns, i % columns);
  const int64_t shape[2] = {rows, columns}, start[2] = {first, 0}, count[2] = {n, columns};
  sluice_file *from, *out;
  sluice_variable temperature, mask;
  if (argc > 2) {
    check(sluice_open(MPI_COMM_WORLD, argv[2], "r", NULL, &from));
    check(sluice_find(from, "temperature", &temperature));
    check(sluice_get(from, temperature, SLUICE_FLOAT64, u[1], 2, start, count, SLUICE_LAST_STEP));
    check(sluice_close(from));
    sluice_free(from);
  }
  sluice_variable_options stepped = SLUICE_VARIABLE_OPTIONS_INIT;
  stepped.steps = 1;
  stepped.unit = "K";
  check(sluice_open(MPI_COMM_WORLD, argv[1], "w", NULL, &out));
  check(sluice_set_text(out, "", "title", "heat on a plate"));
  check(sluice_define(out, "temperature", SLUICE_FLOAT64, 2, shape, &stepped, &temperature));
  check(sluice_define(out, "heater", SLUICE_BOOL, 2, shape, NULL, &mask));
  check(sluice_put(out, mask, SLUICE_BOOL, heater, 2, start, count));
  for (int t = 0; t < steps; ++t) {
    sweep(u, old, n, first);
    check(sluice_begin_step(out, 0.1 * t));
    check(sluice_put(out, temperature, SLUICE_FLOAT64, u[1], 2, start, count));
    check(sluice_end_step(out, NULL));
  }
  check(sluice_close(out));
  sluice_free(out);
  free(u), free(old), free(heater);
  MPI_Finalize();
}
