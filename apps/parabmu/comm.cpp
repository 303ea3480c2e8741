#include "comm.hpp"

#include <algorithm>

namespace parabmu {

void broadcast(MPI_Comm comm, std::span<std::byte> bytes, int root) {
  for (std::size_t at = 0; at < bytes.size(); at += app::piece_bytes) {
    const auto piece = static_cast<int>(std::min(app::piece_bytes, bytes.size() - at));
    MPI_Bcast(bytes.data() + at, piece, MPI_BYTE, root, comm);
  }
}

std::int64_t sum(MPI_Comm comm, std::int64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, comm);
  return value;
}

double largest(MPI_Comm comm, double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm);
  return value;
}

std::uint64_t sum_below(MPI_Comm comm, std::uint64_t value) {
  std::uint64_t below = 0;
  MPI_Exscan(&value, &below, 1, MPI_UINT64_T, MPI_SUM, comm);
  return rank_of(comm) == 0 ? 0 : below;
}

}  // namespace parabmu
