#include "layout/zarr/objects.hpp"

#include <atomic>

#include "sluice/error.hpp"

namespace sluice::layout::zarr {

std::optional<std::uint64_t> bytes_of_object(storage::File& file, const std::string& name) {
  const std::optional<std::uint64_t> bytes = file.object_bytes(name);
  if (bytes == 0) {
    throw Error(Code::truncated, file.path() + "/" + name +
                                     ": has 0 bytes: a crash, a full disk or a copy that was cut "
                                     "off leaves such a file: restore it from a copy");
  }
  return bytes;
}

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
  if (const std::size_t got = file.read(address, read); got != bytes) {
    throw Error(Code::truncated, file.path() + "/" + name + ": ends after " + std::to_string(got) +
                                     " bytes, and had " + std::to_string(there));
  }
  return read;
}

std::uint64_t new_addresses(std::uint64_t bytes) {
  static std::atomic<std::uint64_t> next = 1ULL << 60;
  return next.fetch_add(bytes);
}

}  // namespace sluice::layout::zarr
