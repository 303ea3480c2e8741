// The .meta files of VAMPIRE snapshots: small texts that name the data files.
//
// Pure functions over text, safe on hostile input: a count is trusted only as far as there are
// lines or bytes; a listed name is a plain file name, so that it cannot leave the folder. Every
// failure is Error format or bad_name and names the file and the line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::dialect::vampire {

/// One material of the run, as the coordinates' meta lists it.
struct Material {
  std::int32_t id = 0;    ///< what the atoms' `type` refers to
  double moment_mub = 0;  ///< magnetic moment of one atom, Bohr magnetons
  std::string element;    ///< chemical symbol, with the trailing blanks that VAMPIRE writes
  std::string name;
};

/// The content of `atoms-coords.meta`.
struct CoordinatesMeta {
  bool text = false;  ///< its line `Format:`, which may be wrong (mpi-io mode): look at the data
  std::uint64_t atoms = 0;
  std::vector<Material> materials;
  std::vector<std::string> files;
};

/// The content of `spins-%08d.meta`.
struct SpinsMeta {
  double time_s = 0;
  std::array<double, 3> field_t{};
  double temperature_k = 0;
  /// The unit vector along the total moment, as printed (6 digits).
  std::array<std::string, 3> magnetisation;
  std::vector<std::string> files;
  std::array<double, 3> box_angstrom{};  ///< legacy: "System dimensions"; zeros elsewhere
};

/// The content of `non-magnetic-atoms.meta`.
struct NonMagneticMeta {
  bool text = false;
  std::uint64_t atoms = 0;
  std::vector<std::string> files;
};

/// Error format where the element or the name of a material would end its column or its line in a
/// text: it has a control character. `path` is only for messages.
void require_words(const std::vector<Material>& materials, const std::string& path);

/// `path` is only for messages.
CoordinatesMeta parse_coordinates_meta(std::string_view text, const std::string& path);
SpinsMeta parse_spins_meta(std::string_view text, const std::string& path);
NonMagneticMeta parse_non_magnetic_meta(std::string_view text, const std::string& path);

/// The texts line by line as VAMPIRE's own converter counts them. `date`: as asctime() prints it,
/// without its line end. Numbers have six significant digits.
std::string coordinates_meta_text(const CoordinatesMeta& meta, const std::string& date);
std::string spins_meta_text(const SpinsMeta& meta, const std::string& date);
std::string non_magnetic_meta_text(const NonMagneticMeta& meta, const std::string& date);

/// `value` as C++ streams print it by default: "%g", whatever the locale.
void append_number(std::string& out, double value);

}  // namespace sluice::dialect::vampire
