// Heat spreads along a rod, on any number of ranks, and goes on from its last checkpoint. spread
// STEPS: prints the sum of the temperatures. spread.c, spread.f90 and spread.py do the same.
#include <cstdio>
#include <cstdlib>
#include <sluice/checkpoint.hpp>  // 1
#include <span>
#include <vector>

constexpr int cells = 4096;

void advance(std::vector<double>& u, int n, int rank, int ranks) {
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, left, 0, &u[n + 1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&u[n], 1, MPI_DOUBLE, right, 1, &u[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  const std::vector<double> old = u;
  for (int i = 1; i <= n; ++i) {
    u[i] = old[i] + 0.25 * (old[i - 1] - 2 * old[i] + old[i + 1]);
  }
}

double weighted_sum(const std::vector<double>& u, int n, int first, int rank) {
  std::vector<double> all(cells, 0.0);
  for (int i = 0; i < n; ++i) all[first + i] = u[i + 1] * (1 + (first + i) % 7);
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : all.data(), all.data(), cells, MPI_DOUBLE, MPI_SUM, 0,
             MPI_COMM_WORLD);
  double sum = 0;
  for (const double each : all) sum += each;
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  const int first = cells * rank / ranks, n = cells * (rank + 1) / ranks - first;
  std::vector<double> u(n + 2);
  for (int i = 0; i < n; ++i) u[i + 1] = (first + i) % 100 == 50 ? 100 : 0;
  int step = 0;
  sluice::Checkpoint state(MPI_COMM_WORLD, "spread.h5", {.interval_calls = 10});  // 2
  state.array("u", std::span(&u[1], n), {cells}, {.start = {first + 0ull}});      // 3
  state.value("step", step);                                                      // 4
  state.restore();                                                                // 5
  while (step < steps) {
    advance(u, n, rank, ranks);
    ++step;
    if (state.due()) state.save(step);  // 6
    if (state.ending()) break;          // 7
  }
  state.close();  // 8
  const double sum = weighted_sum(u, n, first, rank);
  if (rank == 0) std::printf("%d %.17g\n", step, sum);
  MPI_Finalize();
}
