// Writes STEPS steps of 3 x 1000 doubles into FILE, one every MILLISECONDS; what `watch` looks at.
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "sluice/sluice.hpp"

int main(int argc, char** argv) {
  if (argc != 4) {
    return 2;
  }
  MPI_Init(&argc, &argv);
  {
    sluice::File out(MPI_COMM_WORLD, argv[1], sluice::Mode::write);
    const auto x = out.define<double>("x", {1000, 3}, {.steps = true});
    const std::vector<double> values(3000, 1.0);
    for (int step = 0; step < std::atoi(argv[2]); ++step) {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argv[3])));
      auto open = out.begin_step({.time = step * 0.5});
      open.put(x, values.data());
      open.end();
    }
    out.close();
  }
  MPI_Finalize();
}
