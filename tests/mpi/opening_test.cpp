// What the ranks of a real MPI agree on when they open a file.
#include <cstdlib>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sluice/sluice.hpp>
#include <string>

#include "support/shared_scratch.hpp"

namespace sluice::test {
namespace {

TEST(Opening, WithOptionsThatTheEnvironmentMakesTheSame) {
  const SharedScratch scratch;
  const std::string path = scratch / "f.h5";
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  setenv("SLUICE_TIMEOUT_S", "20", 1);
  Options options;
  options.timeout_s = rank == 0 ? 20 : 30;  // one rank alone has what all get
  File out(MPI_COMM_WORLD, path, Mode::write, options);
  unsetenv("SLUICE_TIMEOUT_S");
  const double value = 7;
  const Variable v = out.define<double>("v", {1});
  if (rank == 0) {
    out.put(v, &value);
  }
  out.close();
  File in(MPI_COMM_WORLD, path, Mode::read);
  double got = 0;
  in.get(in.find("v"), &got);
  EXPECT_EQ(got, 7);
  in.close();
}

}  // namespace
}  // namespace sluice::test
