// The atoms that a rank holds, and the box they are all in.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "vec3.hpp"

namespace vampire {

/// One entry an atom in each list, in ascending order of id once the atoms are with their owner.
/// An id is an atom's row in every file; it does not depend on the number of ranks.
struct Atoms {
  std::vector<std::uint64_t> id;
  std::vector<Vec3> position;  ///< Angstrom
  std::vector<std::int32_t> material;
  std::vector<Vec3> spin;  ///< unit vectors, but as they came: never normalised here

  std::size_t size() const noexcept { return id.size(); }
};

/// The region of all atoms, cut into domains; where it is periodic, it repeats with `length`.
struct Box {
  Vec3 low;
  Vec3 length;
  std::array<bool, 3> periodic{};
};

/// A sample: this rank's atoms and what all ranks know of the whole.
struct Sample {
  Atoms atoms;
  std::uint64_t total = 0;
  Box box;
  std::vector<double> moment_mub;  ///< of material 0, 1, ...
  double cutoff = 0;               ///< atoms at most this far apart interact (Angstrom)
  std::string described;           ///< one line for people: what it is and what was inferred
  std::vector<std::string> notes;
};

}  // namespace vampire
