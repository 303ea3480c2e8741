// MPI-IO as a peer: one collective write, then a sync; many small writes; and a file for each
// snapshot, which nobody syncs.
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

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

/// Many small writes of each rank into a place of its own, as HDF5 writes metadata.
Values write_small(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t bytes = job.number("bytes");
  const std::uint64_t calls = job.number("calls");
  const auto data = world.data((bytes + sizeof(double) - 1) / sizeof(double));
  start_afresh(world, path);
  MPI_File file;
  check_mpi(MPI_File_open(world.comm(), path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                          MPI_INFO_NULL, &file),
            "MPI_File_open", path);
  const std::uint64_t begin = bytes * calls * static_cast<std::uint64_t>(world.rank());

  Stopwatch watch(world.comm());
  for (std::uint64_t call = 0; call < calls; ++call) {
    check_mpi(MPI_File_write_at(file, static_cast<MPI_Offset>(begin + call * bytes), data.data(),
                                static_cast<int>(bytes), MPI_BYTE, MPI_STATUS_IGNORE),
              "MPI_File_write_at", path);
  }
  watch.mark("write_s");
  check_mpi(MPI_File_sync(file), "MPI_File_sync", path);
  watch.mark("sync_s");
  check_mpi(MPI_File_close(&file), "MPI_File_close", path);
  watch.mark("close_s");
  return watch.finish();
}

/// What VAMPIRE's mpi-io mode calls for each of its snapshots.
void write_snapshot(World& world, const std::string& path, std::span<const double> data) {
  MPI_File file;
  check_mpi(MPI_File_open(world.comm(), path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                          MPI_INFO_NULL, &file),
            "MPI_File_open", path);
  constexpr int header_bytes = 16;
  if (world.rank() == 0) {
    check_mpi(MPI_File_write(file, data.data(), header_bytes, MPI_BYTE, MPI_STATUS_IGNORE),
              "MPI_File_write", path);
  }
  const auto offset = header_bytes + static_cast<MPI_Offset>(data.size_bytes()) * world.rank();
  check_mpi(MPI_File_write_at_all(file, offset, data.data(), static_cast<int>(data.size()),
                                  MPI_DOUBLE, MPI_STATUS_IGNORE),
            "MPI_File_write_at_all", path);
  check_mpi(MPI_File_close(&file), "MPI_File_close", path);
}

Values write_snapshots(World& world, const Job& job) {
  const std::uint64_t files = job.number("files");
  const auto data = world.data(elements_of(job));
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < files; ++i) {
    paths.push_back(job.text("path") + "-" + std::to_string(i));
    start_afresh(world, paths.back());
  }
  Stopwatch watch(world.comm());
  for (const std::string& path : paths) write_snapshot(world, path, data);
  watch.mark("close_s");
  Values values = watch.finish();
  for (const std::string& path : paths) start_afresh(world, path);
  return values;
}

}  // namespace

void add_mpiio(Contestants& contestants) {
  contestants["write/mpiio"] = write_mpiio;
  contestants["vampire/mpiio"] = write_mpiio;
  contestants["mpiio/small"] = write_small;
  contestants["mpiio/snapshots"] = write_snapshots;
}

}  // namespace sluice::bench
