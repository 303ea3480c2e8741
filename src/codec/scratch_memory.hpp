// Memory that is not cleared when it is made: what a file says a tile has costs memory only as far
// as it is decoded.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "sluice/error.hpp"

namespace sluice::codec {

class ScratchMemory {
 public:
  /// The first `bytes` of it, with undefined content if it has to grow. Error over_budget if there
  /// is no memory.
  std::span<std::byte> take(std::size_t bytes) {
    if (bytes > size_) {
      bytes_.reset();
      size_ = 0;
      bytes_.reset(new (std::nothrow) std::byte[bytes]);
      if (!bytes_) {
        throw Error(Code::over_budget, "no memory for " + std::to_string(bytes) + " bytes");
      }
      size_ = bytes;
    }
    return {bytes_.get(), bytes};
  }
  const std::byte* data() const noexcept { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace sluice::codec
