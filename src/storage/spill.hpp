// Memory for what may be too much for memory: beyond a limit it lies in a file without a name.
//
// Invariants: the file is gone with the object, however the process ends; zeros at the beginning;
// what was let_go() is on the disk's side, so the kernel can take its pages back at any time.
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
  /// Up to `limit_bytes` in memory, more in a nameless file in `folder` ("" is the working folder).
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
  /// Lets go of the resident pages of a file; nothing where it lies in memory. The bytes stay.
  void let_go() noexcept;

 private:
  std::vector<std::byte> memory_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace sluice::storage
