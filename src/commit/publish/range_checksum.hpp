// The checksum of a range of a file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "storage/storage.hpp"

namespace sluice::commit {

using VisitPiece = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

/// Of `length` bytes from `offset` on, read a megabyte at a time; `visit` (may be empty) gets each
/// piece that was read. Empty where the file ends before.
std::optional<std::uint64_t> range_checksum(storage::File& file, std::uint64_t offset,
                                            std::uint64_t length, const VisitPiece& visit = {});

}  // namespace sluice::commit
