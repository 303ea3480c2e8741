// Atoms and their spins from any source: a folder of VAMPIRE in any mode, or a file with the
// variables `coordinates` (atom, 3), `material` (atom) and, for every step, `spins` (atom, 3).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dialect/vampire/snapshot.hpp"
#include "dialect/vampire/write.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace vampire = dialect::vampire;

class SpinSource {
 public:
  virtual ~SpinSource() = default;

  std::uint64_t atoms = 0;
  std::uint32_t frames = 0;
  /// The number of each frame, ascending: VAMPIRE's snapshots have gaps where files are missing.
  /// Empty: 0, 1, ...
  std::vector<std::uint32_t> numbers;
  std::vector<vampire::Material> materials;
  std::uint64_t non_magnetic_atoms = 0;
  /// How VAMPIRE had divided it over files; empty if unknown.
  std::vector<std::uint64_t> rows_of_file;
  bool was_text = false;
  bool was_legacy = false;
  bool has_times = true;                 ///< else meta() has 0
  bool has_temperatures = true;          ///< the same
  std::array<double, 3> box_angstrom{};  ///< in legacy mode; else zeros
  std::vector<std::string> notes;
  std::vector<std::string> others;  ///< variables that are nothing of spins

  std::uint32_t number(std::uint32_t frame) const {
    return numbers.empty() ? frame : numbers[frame];
  }
  /// The frames whose numbers are in [first, end). Empty if there is none.
  std::array<std::uint32_t, 2> frames_between(std::uint32_t first, std::uint32_t end) const;
  /// "3, numbered from 0", or the existing numbers.
  std::string frames_text() const;
  /// The numbers of frames [begin, end), if they are not 0, 1, ... Otherwise empty.
  std::vector<std::int64_t> numbers_with_gaps(std::uint32_t begin, std::uint32_t end) const;
  /// In Bohr magnetons; 0 if the material is unknown.
  double moment_of(std::int32_t material) const {
    for (const vampire::Material& known : materials) {
      if (known.id == material) {
        return known.moment_mub;
      }
    }
    return 0;
  }
  /// Atoms [first, first + count), each rank its own range. Collective.
  virtual vampire::Coordinates coordinates(std::uint64_t first, std::uint64_t count) = 0;
  virtual vampire::Coordinates non_magnetic(std::uint64_t first, std::uint64_t count) = 0;
  /// Three an atom. Collective.
  virtual std::vector<double> spins(std::uint32_t frame, std::uint64_t first,
                                    std::uint64_t count) = 0;
  /// Time, field, temperature; the direction of the magnetisation if it is known (else "").
  /// Collective.
  virtual vampire::SpinsMeta meta(std::uint32_t frame) = 0;
};

/// Collective. nullptr if `path` has no spins of atoms.
std::unique_ptr<SpinSource> open_spins(const Context& context, const std::string& path);

/// Collective. Is it a folder of VAMPIRE?
bool is_vampire_folder(const Context& context, const std::string& path);

/// A handle on the storage of the command, which outlives it.
inline std::shared_ptr<storage::Storage> borrowed(storage::Storage& storage) {
  return {std::shared_ptr<void>(), &storage};
}

}  // namespace sluice::cli
