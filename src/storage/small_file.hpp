// Small text files that configure the library.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::storage {

enum class Trust : std::uint8_t {
  anybody,    ///< named by the user
  own_files,  ///< only files of the user and of root
};

/// The content of a regular file; /dev/null is empty, another device or a pipe is refused at once.
/// Errors: those of opening; permission if the file belongs to another user and `trust` forbids
/// that; format if it has more than `most_bytes`.
std::string read_small_file(const std::string& path, std::uint64_t most_bytes, Trust trust);

/// Names the settings file; empty: there is none.
inline constexpr const char* settings_variable = "SLUICE_CONFIG";
/// The settings file where the variable is not set, in the current folder.
inline constexpr const char* default_settings = "sluice.toml";

struct SettingsFile {
  std::string name;
  std::string text;        ///< empty: there is none
  bool was_found = false;  ///< in the current folder: the user did not name it
  std::string notice;      ///< a line for the user where that folder could not be searched
};

/// The settings of this process. One that was found must belong to the user or root. Errors: those
/// of read_small_file(), and of the look-up.
SettingsFile settings_file();

}  // namespace sluice::storage
