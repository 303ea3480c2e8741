// The signature of a new file that is written into an empty one, under its name: without it no
// program takes what is there for HDF5.
//
// Invariant: while it is held, zeros lie in its place in the file. It is held wherever HDF5 looks
// for one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::plugin {

class HeldSignature {
 public:
  void begin() noexcept { is_held_ = true; }
  bool is_held() const noexcept { return is_held_; }
  /// What of `bytes` may be written at `offset`: with zeros, in `room`, where there is a signature.
  std::span<const std::byte> without(std::uint64_t offset, std::span<const std::byte> bytes,
                                     std::vector<std::byte>& room);
  /// Lays it over `bytes`, which stand for the file from `offset` on.
  void read_over(std::uint64_t offset, std::span<std::byte> bytes) const;
  void write_to(storage::File& file) const;
  /// Takes that back.
  void take_from(storage::File& file) const noexcept;
  /// It is in the file for good.
  void end() noexcept;

 private:
  using Bytes = std::array<std::byte, 8>;

  bool is_held_ = false;
  std::map<std::uint64_t, Bytes> held_;  ///< also of data that looks like one
};

}  // namespace sluice::plugin
