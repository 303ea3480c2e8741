#include "partition.hpp"

#include <algorithm>
#include <bit>
#include <fcntl.h>
#include <sstream>
#include <stdexcept>
#include <unistd.h>
#include <vector>

namespace sluice::bench {

namespace {

constexpr std::uint64_t mib_elements = (1 << 20) / sizeof(double);
constexpr std::uint64_t sampled_rows = 64;

/// The ranks as a grid that is as square as can be, the longer side last.
std::array<std::uint64_t, 2> grid_of(std::uint64_t ranks) {
  std::uint64_t short_side = 1;
  for (std::uint64_t side = 1; side * side <= ranks; ++side) {
    if (ranks % side == 0) short_side = side;
  }
  return {short_side, ranks / short_side};
}

double swapped(double value) {
  return std::bit_cast<double>(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)));
}

}  // namespace

Part part_of(const std::string& pattern, int rank, int ranks, std::uint64_t mib) {
  const auto r = static_cast<std::uint64_t>(rank);
  const auto all = static_cast<std::uint64_t>(ranks);
  if (pattern == "contiguous") {
    const std::array<std::uint64_t, 3> count{mib, 256, 512};
    return {{mib * all, count[1], count[2]}, {mib * r, 0, 0}, count};
  }
  if (pattern == "pencils") {
    const auto [rows, columns] = grid_of(all);
    const std::array<std::uint64_t, 3> count{mib * 2, 256, 256};
    return {{count[0], count[1] * rows, count[2] * columns},
            {0, count[1] * (r / columns), count[2] * (r % columns)},
            count};
  }
  if (pattern == "small") {
    const std::array<std::uint64_t, 3> count{mib * (mib_elements / 512), 1, 512};
    return {{count[0], all, count[2]}, {0, r, 0}, count};
  }
  const std::string ragged = "ragged-";
  if (pattern.rfind(ragged, 0) == 0) {
    const std::uint64_t run = std::stoull(pattern.substr(ragged.size()));
    if (run == 0) throw std::runtime_error("job: runs of no elements: " + pattern);
    const std::array<std::uint64_t, 3> count{std::max<std::uint64_t>(1, mib * mib_elements / run),
                                             1, run};
    return {{count[0], all, count[2]}, {0, r, 0}, count};
  }
  throw std::runtime_error("job: no pattern " + pattern);
}

Part part_to_read(const World& world, const std::string& pattern, std::uint64_t mib) {
  Part part = part_of("contiguous", world.rank(), world.ranks(), mib);
  if (pattern == "contiguous") return part;
  const auto ranks = static_cast<std::uint64_t>(world.ranks());
  const auto rank = static_cast<std::uint64_t>(world.rank());
  part.count[0] = part.shape[0];
  part.start[0] = 0;
  part.start[2] = part.shape[2] * rank / ranks;
  part.count[2] = part.shape[2] * (rank + 1) / ranks - part.start[2];
  return part;
}

void check_read(const World& world, const Part& part, std::uint64_t mib,
                std::span<const double> values) {
  const std::uint64_t plane = part.shape[1] * part.shape[2];
  for (std::uint64_t i = 0; i < values.size(); i += 997) {
    const std::uint64_t z = part.start[0] + i / (part.count[1] * part.count[2]);
    const std::uint64_t y = part.start[1] + i / part.count[2] % part.count[1];
    const std::uint64_t x = part.start[2] + i % part.count[2];
    const auto writer = static_cast<int>(z / mib);
    const std::uint64_t index = (z % mib) * plane + y * part.shape[2] + x;
    if (values[i] != pattern(writer, index)) {
      throw std::runtime_error("read: rank " + std::to_string(world.rank()) + " got a wrong value");
    }
  }
}

void verify_rows(const World& world, const std::string& pattern, std::uint64_t mib,
                 const ReadRow& read) {
  const int writer = (world.rank() + 1) % world.ranks();
  const Part part = part_of(pattern, writer, world.ranks(), mib);
  const std::uint64_t rows = part.count[0] * part.count[1];
  std::vector<double> found(part.count[2]);
  for (std::uint64_t k = 0; k < sampled_rows; ++k) {
    const std::uint64_t row = (rows - 1) * k / (sampled_rows - 1);
    read({part.start[0] + row / part.count[1], part.start[1] + row % part.count[1], part.start[2]},
         found.size(), found.data());
    for (std::uint64_t i = 0; i < found.size(); ++i) {
      const double expected = bench::pattern(writer, row * part.count[2] + i);
      if (found[i] == expected) continue;
      std::ostringstream message;
      message.precision(17);
      message << "verify: " << pattern << ": element " << row * part.count[2] + i << " of rank "
              << writer << " is " << found[i] << ", " << expected << " was written";
      throw std::runtime_error(message.str());
    }
  }
}

void verify_field_posix(const World& world, const std::string& path, const std::string& pattern,
                        std::uint64_t mib, std::uint64_t offset, bool big_endian) {
  settle_file(path);
  const Part mine = part_of(pattern, world.rank(), world.ranks(), mib);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path);
  verify_rows(world, pattern, mib, [&](const auto& start, std::uint64_t count, double* out) {
    const std::uint64_t element = (start[0] * mine.shape[1] + start[1]) * mine.shape[2] + start[2];
    const std::size_t bytes = count * sizeof(double);
    const auto at = static_cast<off_t>(offset + element * sizeof(double));
    if (pread(descriptor, out, bytes, at) != static_cast<ssize_t>(bytes)) fail("pread", path);
    if (big_endian) std::transform(out, out + count, out, swapped);
  });
  close(descriptor);
}

}  // namespace sluice::bench
