// How large a stripe is where a file will lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sluice::storage {

/// Lustre's stripe size for `path` (or its folder, where the file is not there yet); elsewhere the
/// preferred block size where that is at least 1 MiB; else 0. Never fails: it is only a hint.
std::uint64_t file_system_stripe_bytes(const std::string& path);

/// The stripe size in a `lustre.lov` attribute of a plain layout (version 1 or 3), in bytes; 0
/// where the attribute is anything else or the number is not one that Lustre allows.
std::uint64_t lustre_stripe_bytes(std::span<const std::byte> attribute);

}  // namespace sluice::storage
