// What a user sets for the driver: HDF5_DRIVER_CONFIG, words NAME=VALUE with spaces or commas
// between them. SLUICE_DURABILITY and SLUICE_BUDGET_BYTES count where it does not name them.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::plugin {

struct Settings {
  enum class Durability : std::uint8_t {
    none,   ///< nothing is synced: safe from kill -9, not from a power cut
    close,  ///< synced once, at close
    step,   ///< every flush
  };
  Durability durability = Durability::step;
  /// Bytes below the end of the last commit that are held in memory; more go to a file.
  std::uint64_t budget_bytes = 64 << 20;
  bool locks = true;  ///< HDF5_USE_FILE_LOCKING: is the file locked as HDF5 does it?
  bool log = false;   ///< a line to stderr for every open, commit and close
};

/// Error invalid_argument names what is not known or does not fit.
Settings parse_settings(const std::string& text, Settings base = {});
/// Of this process's environment.
Settings settings_of_environment();

}  // namespace sluice::plugin
