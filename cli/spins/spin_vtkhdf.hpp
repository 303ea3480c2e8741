// Atoms with spins in VTK's HDF5 format: an unstructured grid with a vertex for every atom.
#pragma once

#include <cstdint>
#include <string>

#include "spins/spin_selection.hpp"
#include "verb.hpp"

namespace sluice::cli {

/// The atoms of one frame. Their centre is moved to the origin, as in a VTU; `time_ps` is stored as
/// the field TimeValue. `first`: index of this rank's first atom among `all`. Collective. Returns
/// the bytes of the arrays. Error exists; invalid_argument if there are no atoms.
std::uint64_t write_vtkhdf(const Context& context, const SpinSource& source,
                           const ChosenAtoms& atoms, const Extent3& extent, std::uint64_t first,
                           std::uint64_t all, double time_ps, const std::string& path);

}  // namespace sluice::cli
