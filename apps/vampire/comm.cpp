#include "comm.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <optional>

namespace vampire {
namespace {

/// A message's largest piece: counts of MPI are 32-bit.
constexpr std::size_t piece_bytes = 1ULL << 30;

}  // namespace

int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

double reduce(MPI_Comm comm, double value, MPI_Op op) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, comm);
  return value;
}

std::int64_t reduce(MPI_Comm comm, std::int64_t value, MPI_Op op) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, op, comm);
  return value;
}

void agree(MPI_Comm comm, const std::function<void()>& body) {
  std::optional<Error> mine;
  try {
    body();
  } catch (const Error& error) {
    mine = error;
  } catch (const std::bad_alloc&) {
    mine = Error(Code::over_budget, "out of memory");
  } catch (const std::exception& error) {
    mine = Error(Code::internal, error.what());
  }
  const int nobody = std::numeric_limits<int>::max();
  int first = mine ? rank_of(comm) : nobody;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == nobody) {
    return;
  }
  std::string text = mine ? mine->what() : "";
  int parts[2] = {mine ? static_cast<int>(mine->code()) : 0, static_cast<int>(text.size())};
  MPI_Bcast(parts, 2, MPI_INT, first, comm);
  text.resize(static_cast<std::size_t>(parts[1]));
  MPI_Bcast(text.data(), parts[1], MPI_CHAR, first, comm);
  throw Error(static_cast<Code>(parts[0]), text, first);
}

std::vector<std::vector<std::byte>> all_to_all(MPI_Comm comm,
                                               const std::vector<std::vector<std::byte>>& out) {
  const int ranks = size_of(comm);
  std::vector<std::int64_t> out_bytes(ranks);
  std::vector<std::int64_t> in_bytes(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    out_bytes[rank] = static_cast<std::int64_t>(out[rank].size());
  }
  MPI_Alltoall(out_bytes.data(), 1, MPI_INT64_T, in_bytes.data(), 1, MPI_INT64_T, comm);
  std::vector<std::vector<std::byte>> in(ranks);
  std::vector<MPI_Request> requests;
  for (int rank = 0; rank < ranks; ++rank) {
    in[rank].resize(static_cast<std::size_t>(in_bytes[rank]));
    for (std::size_t at = 0; at < in[rank].size(); at += piece_bytes) {
      const auto bytes = static_cast<int>(std::min(piece_bytes, in[rank].size() - at));
      MPI_Irecv(in[rank].data() + at, bytes, MPI_BYTE, rank, 1, comm, &requests.emplace_back());
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::size_t at = 0; at < out[rank].size(); at += piece_bytes) {
      const auto bytes = static_cast<int>(std::min(piece_bytes, out[rank].size() - at));
      MPI_Isend(out[rank].data() + at, bytes, MPI_BYTE, rank, 1, comm, &requests.emplace_back());
    }
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return in;
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
