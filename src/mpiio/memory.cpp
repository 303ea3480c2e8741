#include "mpiio/memory.hpp"

#include <algorithm>
#include <cstring>

namespace sluice::mpiio {

template <class Copy>
void Memory::walk(std::int64_t stream, std::size_t bytes, Copy&& copy) const {
  if (bytes == 0) {
    return;
  }
  if (is_contiguous()) {
    copy(at(stream), std::size_t{0}, bytes);
    return;
  }
  std::byte* tile = base_ + stream / type_->size * type_->extent;
  std::int64_t within = stream % type_->size;
  std::size_t index = type_->run_at(within);
  within -= type_->before[index];
  for (std::size_t done = 0; done < bytes;) {
    const Run& run = type_->runs[index];
    const std::size_t part = std::min(bytes - done, static_cast<std::size_t>(run.length - within));
    copy(tile + run.offset + within, done, part);
    done += part;
    within = 0;
    if (++index == type_->runs.size()) {
      index = 0;
      tile += type_->extent;
    }
  }
}

void Memory::gather(std::int64_t stream, std::span<std::byte> into) const {
  walk(stream, into.size(), [&](const std::byte* from, std::size_t at, std::size_t bytes) {
    std::memcpy(into.data() + at, from, bytes);
  });
}

void Memory::scatter(std::int64_t stream, std::span<const std::byte> from) const {
  walk(stream, from.size(), [&](std::byte* into, std::size_t at, std::size_t bytes) {
    std::memcpy(into, from.data() + at, bytes);
  });
}

}  // namespace sluice::mpiio
