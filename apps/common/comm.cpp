#include "common/comm.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>
#include <optional>

namespace app {
namespace {

std::optional<Error> error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(Code::over_budget, "out of memory");
  } catch (const std::exception& error) {
    return Error(Code::internal, error.what());
  }
  return std::nullopt;
}

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

void agree(MPI_Comm comm, const std::function<void()>& body) {
  const std::optional<Error> mine = error_of(body);
  const int nobody = std::numeric_limits<int>::max();
  int first = mine ? rank_of(comm) : nobody;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == nobody) {
    return;
  }
  std::string text = mine ? mine->what() : "";
  int head[2] = {mine ? static_cast<int>(mine->code()) : 0, static_cast<int>(text.size())};
  MPI_Bcast(head, 2, MPI_INT, first, comm);
  text.resize(static_cast<std::size_t>(head[1]));
  MPI_Bcast(text.data(), head[1], MPI_CHAR, first, comm);
  throw Error(static_cast<Code>(head[0]), text, first);
}

std::vector<std::vector<std::byte>> all_to_all(MPI_Comm comm,
                                               const std::vector<std::vector<std::byte>>& out) {
  const auto ranks = static_cast<std::size_t>(size_of(comm));
  std::vector<std::uint64_t> sizes(ranks);
  std::vector<std::uint64_t> arriving(ranks);
  std::transform(out.begin(), out.end(), sizes.begin(), [](const auto& b) { return b.size(); });
  MPI_Alltoall(sizes.data(), 1, MPI_UINT64_T, arriving.data(), 1, MPI_UINT64_T, comm);
  std::vector<std::vector<std::byte>> in(ranks);
  std::vector<MPI_Request> requests;
  const auto each_piece = [](std::size_t bytes, const auto& visit) {
    for (std::size_t at = 0; at < bytes; at += piece_bytes) {
      visit(at, static_cast<int>(std::min(piece_bytes, bytes - at)));
    }
  };
  for (std::size_t r = 0; r < ranks; ++r) {
    in[r].resize(arriving[r]);
    each_piece(in[r].size(), [&](std::size_t at, int bytes) {
      MPI_Irecv(in[r].data() + at, bytes, MPI_BYTE, static_cast<int>(r), 1, comm,
                &requests.emplace_back());
    });
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    each_piece(out[r].size(), [&](std::size_t at, int bytes) {
      MPI_Isend(out[r].data() + at, bytes, MPI_BYTE, static_cast<int>(r), 1, comm,
                &requests.emplace_back());
    });
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return in;
}

int run_program(int argc, char** argv, const char* name,
                const std::function<int(MPI_Comm, int, char**)>& run) {
  MPI_Init(&argc, &argv);
  int status = 2;
  try {
    status = run(MPI_COMM_WORLD, argc, argv);
  } catch (const std::exception& error) {
    if (rank_of(MPI_COMM_WORLD) == 0) {
      std::fflush(stdout);
      std::fprintf(stderr, "%s: %s\n", name, error.what());
    }
  }
  MPI_Finalize();
  return status;
}

}  // namespace app
