// A small text file that decides what the library does.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::storage {

enum class Trust : std::uint8_t {
  anybody,    ///< the user has named it
  own_files,  ///< only the user's own, and those of root
};

/// All of a regular file; a pipe or a device is refused at once. Errors: those of opening;
/// permission where the file is another user's and `trust` forbids that; format where it has more
/// than `most_bytes`.
std::string read_small_file(const std::string& path, std::uint64_t most_bytes, Trust trust);

}  // namespace sluice::storage
