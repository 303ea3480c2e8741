// Writes three steps, each rank its part, and reads the neighbour's part back.
#include <cstdint>
#include <cstdio>
#include <sluice/sluice.hpp>
#include <vector>

static int run(const char* path) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::uint64_t each = 1000;
  const auto value = [&](int of, std::uint64_t i, int step) { return of * 1e6 + i + step * 0.5; };
  {
    sluice::File out(MPI_COMM_WORLD, path, sluice::Mode::write, {.strategy = "collective"});
    const auto x = out.define<double>("x", {each * ranks}, {.steps = true, .unit = "nm"});
    std::vector<double> mine(each);
    for (int step = 0; step < 3; ++step) {
      for (std::uint64_t i = 0; i < each; ++i) {
        mine[i] = value(rank, i, step);
      }
      auto open = out.begin_step({.time = 0.1 * step});
      open.put(x, mine.data(), {.start = {rank * each}, .count = {each}});
      open.end();
    }
    out.close();
  }
  sluice::File in(MPI_COMM_WORLD, path, sluice::Mode::read);
  if (in.info(in.find("x")).fill.as<double>() != 0) {
    return 1;
  }
  const int other = (rank + 1) % ranks;
  std::vector<double> theirs(each);
  in.get(in.find("x"), theirs.data(), {.start = {other * each}, .count = {each}}, 2);
  for (std::uint64_t i = 0; i < each; ++i) {
    if (theirs[i] != value(other, i, 2)) {
      std::fprintf(stderr, "rank %d read %g at %d\n", rank, theirs[i], static_cast<int>(i));
      return 1;
    }
  }
  try {
    in.find("y");
  } catch (const sluice::Error& error) {  // the exception's type crosses the library's border
    return error.code() == sluice::Code::not_found && in.steps() == 3 ? 0 : 1;
  }
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = argc == 2 ? run(argv[1]) : 2;
  MPI_Finalize();
  return failed;
}
