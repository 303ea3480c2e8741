// Where the bytes of a write go: into the file at once, or to what writes them later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::mpiio {

class Sink {
 public:
  virtual ~Sink() = default;
  /// The bytes are the caller's again when this returns.
  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

}  // namespace sluice::mpiio
