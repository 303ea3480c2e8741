#include "layout/zarr/objects.hpp"

#include <atomic>

#include "sluice/error.hpp"

namespace sluice::layout::zarr {

namespace {

/// `there`: what it has.
std::vector<std::byte> read_found(storage::File& file, const std::string& name,
                                  std::uint64_t address, std::uint64_t bytes, std::uint64_t there) {
  const storage::Segment segment{address, there, there, name};
  file.map({&segment, 1});
  std::vector<std::byte> read(bytes);
  if (const std::size_t got = file.read(address, read); got != bytes) {
    throw Error(Code::truncated, file.path() + "/" + name + ": ends after " + std::to_string(got) +
                                     " bytes, and had " + std::to_string(there));
  }
  return read;
}

}  // namespace

std::optional<std::uint64_t> bytes_of_object(storage::File& file, const std::string& name) {
  return sizes_of_objects(file, {&name, 1}).front();
}

storage::Sizes sizes_of_objects(storage::File& file, std::span<const std::string> names) {
  storage::Sizes sizes = file.sizes_of(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (sizes[i] == 0) {
      throw Error(Code::truncated, file.path() + "/" + names[i] +
                                       ": has 0 bytes: a crash, a full disk or a copy that was cut "
                                       "off leaves such a file: restore it from a copy");
    }
  }
  return sizes;
}

std::vector<std::byte> read_object(storage::File& file, const std::string& name,
                                   std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t there = file.object_bytes(name).value_or(0);
  if (there < bytes) {
    throw Error(Code::truncated, file.path() + "/" + name + ": has " + std::to_string(there) +
                                     " bytes, and should have " + std::to_string(bytes));
  }
  return read_found(file, name, address, bytes, there);
}

std::vector<std::byte> read_whole(storage::File& file, const std::string& name,
                                  std::uint64_t bytes) {
  return read_found(file, name, new_addresses(bytes), bytes, bytes);
}

std::uint64_t new_addresses(std::uint64_t bytes) {
  static std::atomic<std::uint64_t> next = 1ULL << 60;
  return next.fetch_add(bytes);
}

}  // namespace sluice::layout::zarr
