// The sample that a run starts with: generated, or read from a VAMPIRE snapshot.
#pragma once

#include <mpi.h>

#include "atoms.hpp"
#include "options.hpp"

namespace vampire {

/// Creates or reads the sample and sends every atom to the rank that owns its position. Collective.
/// Errors: those of dialect::vampire, and Error format for atoms that cannot be simulated.
Sample make_sample(MPI_Comm comm, const Options& options);

/// The magnetisation as VAMPIRE prints it: the unit vector along it, six significant digits each,
/// separated by blanks.
std::string direction_text(const Vec3& magnetisation);

}  // namespace vampire
