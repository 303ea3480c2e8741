// The names in a file of spins, which the VAMPIRE-like demo writes too.
#pragma once

namespace sluice::cli::names {

inline constexpr const char* coordinates = "coordinates";      ///< (atom, 3) f64, Angstrom
inline constexpr const char* material = "material";            ///< (atom) i32
inline constexpr const char* category = "category";            ///< (atom) i32
inline constexpr const char* spins = "spins";                  ///< (step, atom, 3) f64
inline constexpr const char* field = "field_t";                ///< (step, 3) f64, tesla
inline constexpr const char* temperature = "temperature_k";    ///< (step, 1) f64, kelvin
inline constexpr const char* magnetisation = "magnetisation";  ///< (step, 3) f64, a unit vector
inline constexpr const char* nm_coordinates = "non_magnetic/coordinates";
inline constexpr const char* nm_material = "non_magnetic/material";
inline constexpr const char* nm_category = "non_magnetic/category";
// attributes
inline constexpr const char* moments = "moment_mub";            ///< Bohr magnetons, by material
inline constexpr const char* elements = "element";              ///< chemical symbols, by material
inline constexpr const char* material_names = "material_name";  ///< by material
inline constexpr const char* rows = "vampire_rows_of_file";
inline constexpr const char* text = "vampire_text";
inline constexpr const char* snapshots = "vampire_snapshots";  ///< numbers, where some are missing
inline constexpr const char* mode = "vampire_mode";            ///< "legacy", where it was that
inline constexpr const char* box = "vampire_box_angstrom";     ///< of legacy: "System dimensions"

}  // namespace sluice::cli::names
