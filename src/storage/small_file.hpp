// A small text file that configures the library.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::storage {

enum class Trust : std::uint8_t {
  anybody,    ///< named by the user
  own_files,  ///< only files of the user and of root
};

struct LookUp {
  bool is_there = false;
  std::string why_not;  ///< nothing was looked for: the folder may not be searched, or is stale
};

/// Looks for a file that nobody named, which is none of the program's where its folder is closed to
/// it. Errors: other failures of the look-up.
LookUp look_for_unnamed(const std::string& path);

/// The content of a regular file; /dev/null is empty, another device or a pipe is refused at once.
/// Errors: those of opening; permission if the file belongs to another user and `trust` forbids
/// that; format if it has more than `most_bytes`.
std::string read_small_file(const std::string& path, std::uint64_t most_bytes, Trust trust);

}  // namespace sluice::storage
