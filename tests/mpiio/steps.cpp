// Steps of a program that goes on until it is killed: a header by rank 0, the ranks' interleaved
// runs by one collective call, a sync; then rank 0 says how many steps are safe.
// steps FILE sync|none
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int run_numbers = 125;
constexpr int runs = 320;  // of a rank and a step
constexpr MPI_Offset header_bytes = 64;
constexpr int most_steps = 2'000;

void need(int result) {
  if (result != MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/// The value of a place says its step, so that every number of the file can be judged.
std::vector<int> numbers_of(int step, int rank, int ranks) {
  std::vector<int> numbers;
  for (int run = 0; run < runs; ++run) {
    for (int i = 0; i < run_numbers; ++i) {
      numbers.push_back(step * 1'000'000 + (run * ranks + rank) * run_numbers + i);
    }
  }
  return numbers;
}

void write_step(MPI_File file, int step, int rank, int ranks) {
  const MPI_Offset step_bytes = MPI_Offset{sizeof(int)} * run_numbers * runs * ranks;
  if (rank == 0) {
    std::array<int, header_bytes / sizeof(int)> header{};
    header.fill(step);
    need(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    need(MPI_File_write_at(file, 0, header.data(), static_cast<int>(header.size()), MPI_INT,
                           MPI_STATUS_IGNORE));
  } else {
    need(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  }
  MPI_Datatype mine = MPI_DATATYPE_NULL;
  MPI_Type_vector(runs, run_numbers, run_numbers * ranks, MPI_INT, &mine);
  MPI_Type_commit(&mine);
  const MPI_Offset begin =
      header_bytes + (step - 1) * step_bytes + MPI_Offset{sizeof(int)} * run_numbers * rank;
  need(MPI_File_set_view(file, begin, MPI_INT, mine, "native", MPI_INFO_NULL));
  MPI_Type_free(&mine);
  const std::vector<int> numbers = numbers_of(step, rank, ranks);
  need(MPI_File_write_all(file, numbers.data(), static_cast<int>(numbers.size()), MPI_INT,
                          MPI_STATUS_IGNORE));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const bool syncs = std::strcmp(argv[2], "sync") == 0;
  // By one rank, so that they come before what it says later.
  const int own = static_cast<int>(getpid());
  std::vector<int> processes(static_cast<std::size_t>(ranks));
  MPI_Gather(&own, 1, MPI_INT, processes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int other = 0; rank == 0 && other < ranks; ++other) {
    std::printf("process %d\n", processes[static_cast<std::size_t>(other)]);
  }
  std::fflush(stdout);
  MPI_File file = MPI_FILE_NULL;
  need(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                     &file));
  for (int step = 1; step <= most_steps; ++step) {
    write_step(file, step, rank, ranks);
    if (syncs) {
      need(MPI_File_sync(file));
    }
    if (rank == 0) {
      std::printf("safe %d\n", step);
      std::fflush(stdout);
    }
  }
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
