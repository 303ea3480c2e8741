// Finds the superblock of an HDF5 file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "layout/hdf5/signature.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

struct Superblock {
  std::uint64_t offset = 0;
  bool guarded = false;  ///< its first byte is invalid, so that plain tools refuse the file
};

/// At 0, or after a user block of 512 bytes or a larger power of two. Empty if there is none: a
/// file of another format, or an empty one.
std::optional<Superblock> find_superblock(storage::File& file);

inline constexpr std::byte signature_byte = layout::hdf5::signature[0];
inline constexpr std::byte spoiled_byte{0x00};

/// Removes the guard, if it is there, from bytes of the file from `offset` on.
void without_guard(const Superblock& superblock, std::uint64_t offset, std::span<std::byte> bytes);

/// The end of what the superblock at `superblock` says is HDF5's; empty: it is of another version,
/// or not at the front of the file.
std::optional<std::uint64_t> end_in(storage::File& file, const Superblock& superblock);

}  // namespace sluice::commit
