#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>

#include "results.hpp"

namespace parabmu {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void fail(const std::string& path) {
  throw Error(errno == ENOSPC ? Code::no_space : Code::io, path + ": " + std::strerror(errno));
}

/// The header, on the rank that begins the file, and this rank's lines. Returns the offset of their
/// end.
long write_own(const std::string& path, const Results& results, bool is_first, long offset) {
  const Mesh& mesh = results.mesh;
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), is_first ? "w" : "r+"));
  if (!file || std::fseek(file.get(), offset, SEEK_SET) != 0) {
    fail(path);
  }
  if (is_first) {
    std::fprintf(file.get(), "nNodes: %llu\nNodes: %llu  %llu  %llu\nMaterials: %s\n",
                 static_cast<unsigned long long>(mesh.total),
                 static_cast<unsigned long long>(mesh.nodes[0]),
                 static_cast<unsigned long long>(mesh.nodes[1]),
                 static_cast<unsigned long long>(mesh.nodes[2]), results.materials_file.c_str());
  }
  for (std::uint64_t node = 0; node < mesh.owned; ++node) {
    const std::uint64_t id = mesh.ids[node];
    const double* const d = results.displacements.data() + 3 * node;
    std::fprintf(
        file.get(), "%llu %llu %llu %llu %.9le %.9le %.9le\n", static_cast<unsigned long long>(id),
        static_cast<unsigned long long>(id % mesh.nodes[0]),
        static_cast<unsigned long long>(id / mesh.nodes[0] % mesh.nodes[1]),
        static_cast<unsigned long long>(id / (mesh.nodes[0] * mesh.nodes[1])), d[0], d[1], d[2]);
  }
  const long end = std::ftell(file.get());
  if (end < 0 || std::fflush(file.get()) != 0 || std::ferror(file.get()) != 0) {
    fail(path);
  }
  return end;
}

}  // namespace

void print_text(MPI_Comm comm, const std::string& path, const Results& results) {
  const int rank = rank_of(comm);
  const int ranks = size_of(comm);
  // -1: a rank below has failed, and reports it at the end.
  std::int64_t offset = 0;
  if (rank != 0) {
    MPI_Recv(&offset, 1, MPI_INT64_T, rank - 1, 4, comm, MPI_STATUS_IGNORE);
  }
  std::exception_ptr failure;
  if (offset >= 0) {
    try {
      offset = write_own(path, results, rank == 0, static_cast<long>(offset));
    } catch (...) {
      failure = std::current_exception();
      offset = -1;
    }
  }
  if (rank + 1 != ranks) {
    MPI_Send(&offset, 1, MPI_INT64_T, rank + 1, 4, comm);
  }
  agree(comm, [&] {
    if (failure) {
      std::rethrow_exception(failure);
    }
  });
}

}  // namespace parabmu
