// Verifies a file without format: each rank's elements at rank * elements.
#pragma once

#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "common.hpp"

namespace sluice::bench {

/// Compares samples with the pattern, read back from the disk rather than from the page cache.
inline void verify_posix(const World& world, const std::string& path, std::uint64_t elements) {
  settle_file(path);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path);
  verify(world, elements, [&](int writer, std::uint64_t first, std::uint64_t count, double* out) {
    const std::uint64_t element = static_cast<std::uint64_t>(writer) * elements + first;
    const std::size_t bytes = count * sizeof(double);
    const ssize_t got = pread(descriptor, out, bytes, static_cast<off_t>(element * sizeof(double)));
    if (got != static_cast<ssize_t>(bytes)) fail("pread", path);
  });
  close(descriptor);
}

}  // namespace sluice::bench
