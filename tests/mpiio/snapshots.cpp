// A file for each snapshot, as in VAMPIRE's mpi-io mode: opened, the header written by rank 0, the
// ranks' spins in sequence by one collective call, closed; never synced.
// snapshots PREFIX NUMBER SPINS
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  std::setlocale(LC_ALL, "");  // as programs with a user interface do
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 4) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  // Not all ranks have the same number of spins.
  const std::int64_t own = std::atoi(argv[3]) + rank * 17;
  std::int64_t before = 0;
  std::int64_t total = 0;
  MPI_Exscan(&own, &before, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&own, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  before = rank == 0 ? 0 : before;
  std::vector<double> spins(static_cast<std::size_t>(3 * own));
  const double begin = MPI_Wtime();
  for (int snapshot = 0; snapshot < std::atoi(argv[2]); ++snapshot) {
    for (std::size_t i = 0; i < spins.size(); ++i) {
      spins[i] = static_cast<double>(snapshot * 1000 + rank) + 1e-6 * static_cast<double>(i);
    }
    const std::string name = argv[1] + std::to_string(snapshot) + ".bin";
    MPI_File file = MPI_FILE_NULL;
    int result = MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                               MPI_INFO_NULL, &file);
    if (result == MPI_SUCCESS && rank == 0) {
      const std::int64_t header[2] = {snapshot, total};
      result = MPI_File_write(file, header, 2, MPI_INT64_T, MPI_STATUS_IGNORE);
    }
    if (result == MPI_SUCCESS) {
      const auto at = static_cast<MPI_Offset>(16 + before * 24);
      result = MPI_File_write_at_all(file, at, spins.data(), static_cast<int>(spins.size()),
                                     MPI_DOUBLE, MPI_STATUS_IGNORE);
    }
    if (result == MPI_SUCCESS) {
      result = MPI_File_close(&file);
    }
    if (result != MPI_SUCCESS) {
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  if (rank == 0) {
    std::printf("%.4f s\n", MPI_Wtime() - begin);
  }
  MPI_Finalize();
  return 0;
}
