// What a user sets for the driver: HDF5_DRIVER_CONFIG, words NAME=VALUE with spaces or commas
// between them; where it does not name them, SLUICE_DURABILITY and SLUICE_BUDGET_BYTES; then
// `durability` and `budget_bytes` of sluice.toml, which is found and trusted as by the library.
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
  /// When is a durable flush brought into its place, for readers that know nothing of the journal?
  enum class Apply : std::uint8_t {
    flush,  ///< before it returns
    later,  ///< with a later one, or at the close: such readers see an earlier flush until then
  };
  Apply apply = Apply::flush;
  /// Bytes below the end of the last commit that are held in memory; more go to a file.
  std::uint64_t budget_bytes = 64 << 20;
  bool checksums = false;  ///< of the blocks of the file, beside it
  bool locks = true;       ///< is the file locked as HDF5 does it?
  bool log = false;        ///< a line to stderr for every commit
};

/// For the file at `path`: of this process's environment and its sluice.toml. Errors: those of
/// reading that; invalid_argument names what is not known or does not fit; permission where one of
/// the current folder belongs to somebody else. `asks_locks`: of the program, which counts where
/// HDF5_USE_FILE_LOCKING does not say.
Settings settings_of(const std::string& path, bool asks_locks);

}  // namespace sluice::plugin
