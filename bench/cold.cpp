#include "cold.hpp"

#include <algorithm>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::bench {
namespace {

/// The share of a file's pages that are in memory.
double resident_share(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path);
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) fail("fstat", path);
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  void* const map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (map == MAP_FAILED) fail("mmap", path);
  std::vector<unsigned char> pages((bytes + page_bytes - 1) / page_bytes);
  const int status = mincore(map, bytes, pages.data());
  munmap(map, bytes);
  if (status != 0) fail("mincore", path);
  const auto resident = std::count_if(pages.begin(), pages.end(), [](auto p) { return p & 1; });
  return static_cast<double>(resident) / static_cast<double>(pages.size());
}

}  // namespace

void make_cold(const World& world, const std::string& path) {
  if (world.rank() == 0) {
    settle_file(path);
    const double share = resident_share(path);
    if (share > 0.01) {
      throw std::runtime_error("read: " + std::to_string(share) + " of " + path +
                               " is still in memory: the file system keeps it");
    }
  }
  MPI_Barrier(world.comm());
}

}  // namespace sluice::bench
