// What stands around the FlatBuffer of a metadata file: a header that says what it is, and
// Zstandard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::layout::icechunk {

enum class FileType : std::uint8_t { snapshot = 1, manifest = 2, transaction_log = 4 };

std::vector<std::byte> in_envelope(FileType type, std::span<const std::byte> content);
/// The content. Error damaged, or version for a newer format, beginning with `what`.
std::vector<std::byte> from_envelope(FileType type, std::span<const std::byte> file,
                                     const std::string& what);
/// Is its beginning that of a metadata file?
bool has_envelope(std::span<const std::byte> file);

}  // namespace sluice::layout::icechunk
