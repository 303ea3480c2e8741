#include "comm.hpp"

namespace vampire {

double reduce(MPI_Comm comm, double value, MPI_Op op) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, comm);
  return value;
}

std::int64_t reduce(MPI_Comm comm, std::int64_t value, MPI_Op op) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, op, comm);
  return value;
}

std::vector<double> allgather(MPI_Comm comm, const std::vector<double>& mine) {
  const int ranks = size_of(comm);
  int count = static_cast<int>(mine.size());
  std::vector<int> counts(ranks);
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
  std::vector<int> starts(ranks);
  int total = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    starts[rank] = total;
    total += counts[rank];
  }
  std::vector<double> all(total);
  MPI_Allgatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), starts.data(),
                 MPI_DOUBLE, comm);
  return all;
}

}  // namespace vampire
