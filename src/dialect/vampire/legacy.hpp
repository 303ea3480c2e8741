// Legacy mode: a text file of each rank, the first one with a header.
//
// Invariants as in meta.hpp: no count is trusted beyond what the file holds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/vampire/meta.hpp"

namespace sluice::dialect::vampire {

/// In J/T, as VAMPIRE rounds it: headers have moments in that unit.
inline constexpr double bohr_magneton = 9.274e-24;

/// The header of the first file of a set.
struct LegacyHeader {
  std::uint64_t atoms = 0;
  std::vector<std::string> others;  ///< files of the other ranks
  std::uint64_t bytes = 0;          ///< of the header; the count and the rows follow
  // of spins
  SpinsMeta meta;                   ///< without its files; field_t along z: only its size is kept
  std::vector<double> moments_mub;  ///< of material 0, 1, ...
};

LegacyHeader parse_legacy_coordinates(std::string_view text, const std::string& path);
LegacyHeader parse_legacy_spins(std::string_view text, const std::string& path);

}  // namespace sluice::dialect::vampire
