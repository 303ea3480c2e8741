// The reference limit: the same bytes from the same ranks by bare system calls.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include "contestants.hpp"
#include "posix_check.hpp"

namespace sluice::bench {
namespace {

constexpr std::size_t request_bytes = 4 << 20;

void write_all(int descriptor, const std::string& path, std::uint64_t offset, const char* data,
               std::uint64_t bytes) {
  while (bytes > 0) {
    const std::size_t wanted = std::min<std::uint64_t>(bytes, request_bytes);
    const ssize_t written = pwrite(descriptor, data, wanted, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("pwrite", path);
    data += written;
    offset += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::uint64_t>(written);
  }
}

// Rank 0 creates the file and reserves its space; the others open it.
int create_and_open(const World& world, const std::string& path, std::uint64_t file_bytes,
                    bool& direct) {
  const int flags = O_WRONLY | O_CLOEXEC | O_CREAT;
  int descriptor = -1;
  for (int turn = 0; turn < 2; ++turn) {
    if ((turn == 0) == (world.rank() == 0)) {
      descriptor = open(path.c_str(), flags | (direct ? O_DIRECT : 0), 0644);
      if (descriptor < 0 && errno == EINVAL && direct) {
        direct = false;
        descriptor = open(path.c_str(), flags, 0644);
      }
      if (descriptor < 0) fail("open", path);
      if (turn == 0) {
        const int error = posix_fallocate(descriptor, 0, static_cast<off_t>(file_bytes));
        if (error != 0) {
          errno = error;
          fail("posix_fallocate", path);
        }
      }
    }
    if (turn == 0) MPI_Barrier(world.comm());
  }
  return descriptor;
}

Values write_bare(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t elements = elements_of(job);
  const auto data = world.data(elements);
  start_afresh(world, path);

  bool direct = true;
  Stopwatch watch(world.comm());
  const int descriptor = create_and_open(
      world, path, data.size_bytes() * static_cast<std::uint64_t>(world.ranks()), direct);
  watch.mark("create_s");
  write_all(descriptor, path, data.size_bytes() * static_cast<std::uint64_t>(world.rank()),
            reinterpret_cast<const char*>(data.data()), data.size_bytes());
  watch.mark("write_s");
  if (fdatasync(descriptor) != 0) fail("fdatasync", path);
  watch.mark("sync_s");
  close(descriptor);
  watch.mark("close_s");
  Values values = watch.finish();
  values.emplace_back("direct", direct ? 1 : 0);

  if (job.number("verify")) verify_posix(world, path, elements);
  return values;
}

// The minimal cost of a step of small blocks on this machine: the calls, and one barrier.
Values step_bare(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t variables = job.number("variables");
  const std::uint64_t steps = job.number("steps") + job.number("warm_up");
  const auto data = world.data(job.number("elements"));
  const auto ranks = static_cast<std::uint64_t>(world.ranks());
  start_afresh(world, path);

  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) fail("open", path);
  StepTimes times(world.comm(), job.number("warm_up"), job.number("pause_ms", 0));
  const bool durable = job.text("durability", "none") == "step";
  for (std::uint64_t s = 0; s < steps; ++s) {
    times.time([&] {
      for (std::uint64_t v = 0; v < variables; ++v) {
        const std::uint64_t block = (s * variables + v) * ranks;
        write_all(descriptor, path,
                  (block + static_cast<std::uint64_t>(world.rank())) * data.size_bytes(),
                  reinterpret_cast<const char*>(data.data()), data.size_bytes());
      }
      if (durable && fdatasync(descriptor) != 0) fail("fdatasync", path);
      MPI_Barrier(world.comm());
    });
  }
  close(descriptor);
  return times.finish();
}

// What a durable step costs at the very least: its bytes and one sync, with which rank 0 ends it.
// Blocks of whole MiB go to the disk by O_DIRECT into preallocated space, as everybody's do.
Values step_bytes_sync(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t steps = job.number("steps") + job.number("warm_up");
  const auto data = world.data(job.number("elements") * job.number("variables"));
  const auto rank = static_cast<std::uint64_t>(world.rank());
  const std::uint64_t step_bytes = data.size_bytes() * static_cast<std::uint64_t>(world.ranks());
  start_afresh(world, path);

  bool direct = data.size_bytes() % (1 << 20) == 0;
  const int descriptor = create_and_open(world, path, page_bytes, direct);
  StepTimes times(world.comm(), job.number("warm_up"), job.number("pause_ms", 0));
  for (std::uint64_t s = 0; s < steps; ++s) {
    times.time([&] {
      if (rank == 0) {
        const int error = posix_fallocate(descriptor, static_cast<off_t>(s * step_bytes),
                                          static_cast<off_t>(step_bytes));
        errno = error;
        if (error != 0) fail("posix_fallocate", path);
      }
      MPI_Barrier(world.comm());
      write_all(descriptor, path, s * step_bytes + rank * data.size_bytes(),
                reinterpret_cast<const char*>(data.data()), data.size_bytes());
      MPI_Barrier(world.comm());
      if (rank == 0 && fdatasync(descriptor) != 0) fail("fdatasync", path);
      MPI_Barrier(world.comm());
    });
  }
  close(descriptor);
  if (job.number("verify", 0)) verify_posix(world, path, data.size());
  Values values = times.finish();
  values.emplace_back("direct", direct ? 1 : 0);
  return values;
}

// What a small file costs at the very least that is whole and durable under its name, or not there.
Values snapshot_bare(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::string building = path + ".new";
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::uint64_t files = job.number("steps") + job.number("warm_up");
  const auto data = world.data(job.number("elements") * job.number("variables"));
  const bool makes = world.rank() == 0;
  StepTimes times(world.comm(), job.number("warm_up"));
  for (std::uint64_t f = 0; f < files; ++f) {
    start_afresh(world, path);
    times.time([&] {
      int descriptor = -1;
      const auto open_it = [&] {
        descriptor = open(building.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (descriptor < 0) fail("open", building);
      };
      if (makes) open_it();
      MPI_Barrier(world.comm());
      if (!makes) open_it();
      write_all(descriptor, building, data.size_bytes() * static_cast<std::uint64_t>(world.rank()),
                reinterpret_cast<const char*>(data.data()), data.size_bytes());
      MPI_Barrier(world.comm());
      if (makes) {
        if (fdatasync(descriptor) != 0) fail("fdatasync", building);
        if (rename(building.c_str(), path.c_str()) != 0) fail("rename", path);
        const int names = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (names < 0 || fsync(names) != 0) fail("fsync", folder);
        close(names);
      }
      close(descriptor);
      MPI_Barrier(world.comm());
    });
  }
  if (job.number("verify", 0)) verify_posix(world, path, data.size());
  return times.finish();
}

}  // namespace

void add_bare(Contestants& contestants) {
  contestants["write/bare"] = write_bare;
  contestants["strategies/bare"] = write_bare;
  contestants["vampire/bare"] = write_bare;
  contestants["step/bare"] = step_bare;
  contestants["step/bytes-sync"] = step_bytes_sync;
  contestants["step/snapshot-bare"] = snapshot_bare;
}

}  // namespace sluice::bench
