// Zstandard for metadata of formats that have it compressed: whole frames in memory, whose length
// is not known before they are decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::codec {

/// Is the library there that does it?
bool has_zstd();
/// Error unsupported without the library.
std::vector<std::byte> zstd_frame(std::span<const std::byte> bytes);
/// Error damaged, beginning with `what`, for bytes that are no frame, and for more than
/// `most_bytes`.
std::vector<std::byte> from_zstd_frame(std::span<const std::byte> frame, std::uint64_t most_bytes,
                                       const std::string& what);

}  // namespace sluice::codec
