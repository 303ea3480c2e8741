// Cold reads: the file is written as slabs, leaves the page cache, and is read by the case's
// pattern.
#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

#include "cold.hpp"
#include "contestants.hpp"
#include "partition.hpp"
#include "sluice/sluice.hpp"

namespace sluice::bench {
namespace {

void write_slabs(World& world, const std::string& path, std::uint64_t mib) {
  const Part part = part_of("contiguous", world.rank(), world.ranks(), mib);
  start_afresh(world, path);
  File file(world.comm(), path, Mode::create, {});
  const Variable field =
      file.define<double>("field", {part.shape.begin(), part.shape.end()}, {.steps = true});
  Step step = file.begin_step({.time = 0});
  step.put(field, world.data(part.elements()).data(),
           {.start = {part.start.begin(), part.start.end()},
            .count = {part.count.begin(), part.count.end()}});
  step.end();
  file.close();
}

Values read_sluice(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t mib = job.number("mib");
  const Part part = part_to_read(world, job.text("pattern"), mib);
  write_slabs(world, path, mib);
  Options options;
  options.readers = static_cast<int>(job.number("readers", 0));
  options.checksum = job.number("checksum", 1) != 0;
  std::vector<double> values(part.elements());
  make_cold(world, path);

  Stopwatch watch(world.comm());
  File file(world.comm(), path, Mode::read, options);
  watch.mark("open_s");
  file.get(file.find("field"), values.data(),
           {.start = {part.start.begin(), part.start.end()},
            .count = {part.count.begin(), part.count.end()}},
           0);
  watch.mark("read_s");
  const Values marks = watch.finish();
  check_read(world, part, mib, values);
  return marks;
}

/// The limit: each rank its slab by 4 MiB reads past the page cache, whatever the pattern.
Values read_bare(World& world, const Job& job) {
  const std::string path = job.text("path");
  const std::uint64_t mib = job.number("mib");
  write_slabs(world, path, mib);
  const std::span<const double> room = world.data(mib << 17);
  std::vector<double> values(room.size());
  make_cold(world, path);

  Stopwatch watch(world.comm());
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path);
  watch.mark("open_s");
  constexpr std::size_t request_bytes = 4 << 20;
  auto* to = reinterpret_cast<char*>(values.data());
  const std::uint64_t first = (mib << 20) * static_cast<std::uint64_t>(world.rank());
  for (std::uint64_t at = 0; at < mib << 20; at += request_bytes) {
    const std::size_t wanted = std::min<std::uint64_t>(request_bytes, (mib << 20) - at);
    if (pread(descriptor, to + at, wanted, static_cast<off_t>(first + at)) < 0) fail("pread", path);
  }
  watch.mark("read_s");
  close(descriptor);
  return watch.finish();
}

}  // namespace

void add_field_read(Contestants& contestants) {
  contestants["read/sluice"] = read_sluice;
  contestants["read/bare"] = read_bare;
}

}  // namespace sluice::bench
