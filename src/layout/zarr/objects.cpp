#include "layout/zarr/objects.hpp"

#include <atomic>

#include "sluice/error.hpp"

namespace sluice::layout::zarr {

std::vector<std::byte> read_object(storage::File& file, const std::string& name,
                                   std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t there = file.object_bytes(name).value_or(0);
  if (there < bytes) {
    throw Error(Code::truncated, file.path() + "/" + name + ": has " + std::to_string(there) +
                                     " bytes, and should have " + std::to_string(bytes));
  }
  const storage::Segment segment{address, there, there, name};
  file.map({&segment, 1});
  std::vector<std::byte> read(bytes);
  read.resize(file.read(address, read));
  return read;
}

std::uint64_t new_addresses(std::uint64_t bytes) {
  static std::atomic<std::uint64_t> next = 1ULL << 60;
  return next.fetch_add(bytes);
}

}  // namespace sluice::layout::zarr
