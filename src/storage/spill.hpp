// Memory for data that may exceed memory: beyond a limit it is in an unnamed file.
//
// Invariants: the file disappears with the object, however the process ends; initially zero; what
// was let_go() has been written to the file, so the kernel can reclaim its pages at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::storage {

class Spill {
 public:
  Spill() = default;
  /// Up to `limit_bytes` in memory, more in an unnamed file in `folder` ("" is the working folder).
  /// Errors io, no_space (the file's space is reserved at once).
  Spill(std::uint64_t bytes, std::uint64_t limit_bytes, const std::string& folder);
  ~Spill();
  Spill(Spill&& other) noexcept;
  Spill& operator=(Spill&& other) noexcept;
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  bool in_file() const noexcept { return mapped_; }
  /// Releases the resident pages of a file; does nothing in memory. The bytes are kept.
  void let_go() noexcept;

 private:
  std::vector<std::byte> memory_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace sluice::storage
