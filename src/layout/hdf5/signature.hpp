// Recognises an HDF5 file by its bytes, without libhdf5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// Superblocks of the HDF5 File Format Specification, section II.A.
inline constexpr std::array<std::byte, 8> signature{
    std::byte{0x89}, std::byte{'H'},  std::byte{'D'},  std::byte{'F'},
    std::byte{'\r'}, std::byte{'\n'}, std::byte{0x1a}, std::byte{'\n'}};

/// Where it may be: at 0, 512, 1024, ... (after a user block).
constexpr std::uint64_t next_signature_place(std::uint64_t at) { return at == 0 ? 512 : 2 * at; }

/// Is it at one of these places?
bool has_signature(storage::File& file);
/// Does the file begin with the signature and a superblock of a known version?
bool begins_with_superblock(storage::File& file);

}  // namespace sluice::layout::hdf5
