// Heat spreads over a plate, on any number of ranks. heat FILE [FROM]: writes every step to FILE;
// goes on from the last step of FROM. heat.c, heat.f90 and heat.py write the same file.
#include <cstdint>
#include <iostream>
#include <memory>
#include <sluice/sluice.hpp>
#include <vector>

constexpr int rows = 64, columns = 32, steps = 8;

bool is_heater(int i, int j) { return i == rows / 2 && j >= columns / 4 && j < columns / 2; }

void exchange(std::vector<double>& u, int n, int rank, int ranks) {
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int down = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(&u[columns], columns, MPI_DOUBLE, up, 0, &u[(n + 1) * columns], columns, MPI_DOUBLE,
               down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&u[n * columns], columns, MPI_DOUBLE, down, 1, u.data(), columns, MPI_DOUBLE, up, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void sweep(std::vector<double>& u, int n, int first) {
  const std::vector<double> old = u;
  for (int i = 1; i <= n; ++i) {
    for (int j = 1; j < columns - 1; ++j) {
      const double* o = &old[i * columns + j];
      u[i * columns + j] = o[0] + 0.1 * (o[-columns] + o[columns] + o[-1] + o[1] - 4 * o[0]);
      if (is_heater(first + i - 1, j)) u[i * columns + j] = 100;
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > rows) {
    if (rank == 0) std::cerr << "heat: " << ranks << " ranks for " << rows << " rows: use fewer\n";
    MPI_Finalize();
    return 2;
  }
  const int first = rows * rank / ranks, n = rows * (rank + 1) / ranks - first;
  std::vector<double> u((n + 2) * columns);
  const auto heater = std::make_unique<bool[]>(n * columns);
  for (int i = 0; i < n * columns; ++i) heater[i] = is_heater(first + i / columns, i % columns);
  const sluice::Shape shape = {rows, columns}, ghosted = {n + 2ull, columns};
  sluice::Selection mine = {.start = {first + 0ull, 0}, .count = {n + 0ull, columns}};
  if (argc > 2) {
    sluice::File from(MPI_COMM_WORLD, argv[2], sluice::Mode::read);
    from.get(from.find("temperature"), &u[columns], mine, from.steps() - 1);
  }
  sluice::File out(MPI_COMM_WORLD, argv[1], sluice::Mode::write);
  out.set_attribute("", "title", "heat on a plate");
  const auto temperature = out.define<double>("temperature", shape, {.steps = true, .unit = "K"});
  out.put(out.define<bool>("heater", shape), heater.get(), mine);
  mine.memory_shape = ghosted, mine.memory_start = {1, 0};  // u has a ghost row at either end
  for (int t = 0; t < steps; ++t) {
    exchange(u, n, rank, ranks);
    sweep(u, n, first);
    auto step = out.begin_step({.time = 0.1 * t});
    step.put(temperature, u.data(), mine);
    step.end();
  }
  out.close();
  MPI_Finalize();
}
