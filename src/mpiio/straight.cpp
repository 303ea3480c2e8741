#include "mpiio/straight.hpp"

#include <limits>

#include "sluice/error.hpp"

namespace sluice::mpiio {

std::unique_ptr<storage::RangeLock> Straight::lock(const storage::ByteRange& range,
                                                   bool is_exclusive) {
  if (locks_ == Locks::none) {
    return nullptr;
  }
  try {
    return storage::lock_range(file_, range, is_exclusive || locks_ == Locks::exclusive);
  } catch (const Error& e) {
    throw Error(e.code(), std::string(e.what()) +
                              ": on NFS ranks of several nodes need its locks for each access");
  }
}

void Straight::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  const auto held = lock({offset, bytes.size()}, true);
  file_.write(offset, bytes);
}

std::size_t Straight::read(std::uint64_t offset, std::span<std::byte> bytes) {
  const auto held = lock({offset, bytes.size()}, false);
  return file_.read(offset, bytes);
}

std::uint64_t Straight::size() {
  // Of a byte behind all others: for it nobody waits long.
  constexpr std::uint64_t last = std::numeric_limits<std::int64_t>::max() - 1;
  const auto held = lock({last, 1}, false);
  return file_.size();
}

}  // namespace sluice::mpiio
