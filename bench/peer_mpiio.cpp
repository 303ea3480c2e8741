// MPI-IO as a peer: one collective write, then a sync.
#include <limits>
#include <stdexcept>

#include "contestants.hpp"
#include "posix_check.hpp"

namespace sluice::bench {
namespace {

Values write_mpiio(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t elements = elements_of(job);
  const auto data = world.data(elements);
  if (elements > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw std::runtime_error("mpiio: more elements a rank than an int of MPI counts");
  }
  start_afresh(world, path);

  Stopwatch watch(world.comm());
  MPI_File file;
  check_mpi(MPI_File_open(world.comm(), path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                          MPI_INFO_NULL, &file),
            "MPI_File_open", path);
  watch.mark("create_s");
  const auto offset = static_cast<MPI_Offset>(data.size_bytes()) * world.rank();
  check_mpi(MPI_File_write_at_all(file, offset, data.data(), static_cast<int>(elements), MPI_DOUBLE,
                                  MPI_STATUS_IGNORE),
            "MPI_File_write_at_all", path);
  watch.mark("write_s");
  check_mpi(MPI_File_sync(file), "MPI_File_sync", path);
  watch.mark("sync_s");
  check_mpi(MPI_File_close(&file), "MPI_File_close", path);
  watch.mark("close_s");
  Values values = watch.finish();

  if (job.number("verify")) verify_posix(world, path, elements);
  return values;
}

}  // namespace

void add_mpiio(Contestants& contestants) {
  contestants["write/mpiio"] = write_mpiio;
  contestants["vampire/mpiio"] = write_mpiio;
}

}  // namespace sluice::bench
