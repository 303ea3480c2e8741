// All at the same time, as in codes in which every rank writes: each its own runs, by bare calls,
// regardless of pages, stripes or the other ranks.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <stdexcept>
#include <unistd.h>
#include <vector>

#include "contestants.hpp"
#include "partition.hpp"

namespace sluice::bench {
namespace {

struct Run {
  off_t offset;
  std::size_t bytes;
};

/// The runs of a box in a file that holds the field alone, in the order of its elements.
std::vector<Run> runs_of(const Part& part) {
  std::vector<Run> runs;
  const std::size_t bytes = part.count[2] * sizeof(double);
  for (std::uint64_t z = 0; z < part.count[0]; ++z) {
    for (std::uint64_t y = 0; y < part.count[1]; ++y) {
      const std::uint64_t row = (part.start[0] + z) * part.shape[1] + part.start[1] + y;
      const std::uint64_t element = row * part.shape[2] + part.start[2];
      const auto offset = static_cast<off_t>(element * sizeof(double));
      const bool follows =
          !runs.empty() && runs.back().offset + static_cast<off_t>(runs.back().bytes) == offset;
      if (follows) {
        runs.back().bytes += bytes;
      } else {
        runs.push_back({offset, bytes});
      }
    }
  }
  return runs;
}

std::uint64_t file_bytes_of(const Part& part) {
  return part.shape[0] * part.shape[1] * part.shape[2] * sizeof(double);
}

/// Rank 0 makes the file with all its space; then all open it.
int create_whole(const World& world, const std::string& path, std::uint64_t bytes) {
  if (world.rank() == 0) {
    const int made = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (made < 0) fail("open", path);
    if (const int error = posix_fallocate(made, 0, static_cast<off_t>(bytes)); error != 0) {
      errno = error;
      fail("posix_fallocate", path);
    }
    close(made);
  }
  MPI_Barrier(world.comm());
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) fail("open", path);
  return descriptor;
}

void write_runs(int descriptor, const std::string& path, const std::vector<Run>& runs,
                const char* data) {
  for (const Run& run : runs) {
    for (std::size_t done = 0; done < run.bytes;) {
      const ssize_t count =
          pwrite(descriptor, data + done, run.bytes - done, run.offset + static_cast<off_t>(done));
      if (count <= 0) fail("pwrite", path);
      done += static_cast<std::size_t>(count);
    }
    data += run.bytes;
  }
}

Values write_field(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::string pattern = job.text("pattern");
  const Part part = part_of(pattern, world.rank(), world.ranks(), job.number("mib"));
  const auto data = world.data(part.elements());
  const std::vector<Run> runs = runs_of(part);
  start_afresh(world, path);

  Stopwatch watch(world.comm());
  const int descriptor = create_whole(world, path, file_bytes_of(part));
  watch.mark("create_s");
  write_runs(descriptor, path, runs, reinterpret_cast<const char*>(data.data()));
  watch.mark("write_s");
  if (fdatasync(descriptor) != 0) fail("fdatasync", path);
  close(descriptor);
  watch.mark("close_s");
  Values values = watch.finish();

  if (job.number("verify")) {
    verify_field_posix(world, path, pattern, job.number("mib"), 0, false);
  }
  return values;
}

Values read_field(World& world, const Job& job) {
  const std::string path = job.text("path");
  const Part part = part_of(job.text("pattern"), world.rank(), world.ranks(), job.number("mib"));
  const std::vector<Run> runs = runs_of(part);
  const auto data = world.data(part.elements());
  start_afresh(world, path);
  const int written = create_whole(world, path, file_bytes_of(part));
  write_runs(written, path, runs, reinterpret_cast<const char*>(data.data()));
  close(written);
  settle_file(path);
  std::vector<double> found(part.elements());

  Stopwatch watch(world.comm());
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path);
  auto* to = reinterpret_cast<char*>(found.data());
  for (const Run& run : runs) {
    for (std::size_t done = 0; done < run.bytes;) {
      const ssize_t count =
          pread(descriptor, to + done, run.bytes - done, run.offset + static_cast<off_t>(done));
      if (count <= 0) fail("pread", path);
      done += static_cast<std::size_t>(count);
    }
    to += run.bytes;
  }
  watch.mark("read_s");
  close(descriptor);
  Values values = watch.finish();
  if (!std::equal(found.begin(), found.end(), data.begin())) {
    throw std::runtime_error("posix-read: rank " + std::to_string(world.rank()) +
                             " got a wrong value");
  }
  return values;
}

}  // namespace

void add_field_posix(Contestants& contestants) {
  contestants["strategies/posix"] = write_field;
  contestants["strategies/posix-read"] = read_field;
}

}  // namespace sluice::bench
