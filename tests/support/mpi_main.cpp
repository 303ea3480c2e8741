// The main program of tests that run under mpirun: every rank runs every test.
//
// Rank 0 prints as usual; the others print their failures only, with their rank. After each test
// the ranks meet, so that a rank that failed early does not disturb the next test. A rank that does
// not come to that meeting within SLUICE_TEST_MEET_S (60) seconds ends the whole run. Every rank
// exits with 1 if any failed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <mpi.h>
#include <string>
#include <thread>

namespace {

int g_rank = 0;
MPI_Comm g_comm = MPI_COMM_NULL;

double meet_limit_s() {
  const char* text = std::getenv("SLUICE_TEST_MEET_S");
  return text != nullptr ? std::atof(text) : 60;
}

// The maximum over the ranks; ends the run if a rank is missing.
int meet(int value, const std::string& where) {
  int largest = 0;
  int done = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&value, &largest, 1, MPI_INT, MPI_MAX, g_comm, &request);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(meet_limit_s());
  for (;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) {
      return largest;
    }
    if (std::chrono::steady_clock::now() > end) {
      std::fprintf(stderr, "[rank %d] the other ranks did not come to the end of %s: giving up\n",
                   g_rank, where.c_str());
      std::fflush(stderr);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

class RankListener : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }

  // GoogleTest holds its lock here, so it must not be asked for the current test.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (g_rank == 0 || !result.failed()) {
      return;
    }
    std::fprintf(stderr, "[rank %d] %s: %s:%d: %s\n", g_rank, test_.c_str(),
                 result.file_name() != nullptr ? result.file_name() : "?", result.line_number(),
                 result.message());
    std::fflush(stderr);
  }

  void OnTestEnd(const testing::TestInfo&) override { meet(0, test_); }

  std::string test_;
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &g_comm);
  testing::InitGoogleTest(&argc, argv);

  // One order on every rank.
  int seed = testing::GTEST_FLAG(random_seed);
  if (seed == 0) {
    seed = static_cast<int>(std::chrono::system_clock::now().time_since_epoch().count() % 99999);
  }
  MPI_Bcast(&seed, 1, MPI_INT, 0, g_comm);
  testing::GTEST_FLAG(random_seed) = seed;

  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (g_rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());
  }
  listeners.Append(new RankListener);
  const int mine = RUN_ALL_TESTS();
  const int worst = meet(mine == 0 ? 0 : 1, "the run");
  if (g_rank == 0 && worst != 0 && mine == 0) {
    std::fprintf(stderr, "[rank 0] passed here, failed on another rank: see its lines above\n");
  }
  MPI_Finalize();
  return worst;
}
