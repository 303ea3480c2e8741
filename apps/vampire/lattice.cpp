#include "lattice.hpp"

#include <cmath>
#include <vector>

#include "comm.hpp"

namespace vampire {
namespace {

struct Kind {
  std::vector<Vec3> basis;  ///< in units of the cell's edge
  double nearest = 1;       ///< distance of nearest neighbours, likewise
};

Kind kind_of(const std::string& name) {
  if (name == "sc") {
    return {{{0, 0, 0}}, 1};
  }
  if (name == "bcc") {
    return {{{0, 0, 0}, {0.5, 0.5, 0.5}}, std::sqrt(0.75)};
  }
  if (name == "fcc") {
    return {{{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}}, std::sqrt(0.5)};
  }
  throw Error(Code::invalid_argument, "--lattice " + name + ": there are sc, bcc and fcc");
}

}  // namespace

Sample generate(const Lattice& lattice, int rank, int ranks) {
  const Kind kind = kind_of(lattice.kind);
  unsigned __int128 total = kind.basis.size();
  for (const std::uint64_t cells : lattice.cells) {
    total *= cells;
    if (cells == 0 || total > (1ULL << 53)) {
      throw Error(Code::invalid_argument, "--size: from 1 cell to 2^53 atoms");
    }
  }
  Sample sample;
  sample.total = static_cast<std::uint64_t>(total);
  sample.cutoff = 1.05 * kind.nearest * lattice.spacing;
  sample.box.periodic = lattice.periodic;
  for (int axis = 0; axis < 3; ++axis) {
    // A quarter cell below the first plane, so that no cut between domains lies on a plane.
    sample.box.low[axis] = -0.25 * lattice.spacing;
    sample.box.length[axis] = static_cast<double>(lattice.cells[axis]) * lattice.spacing;
  }
  const auto first = static_cast<std::uint64_t>(total * static_cast<unsigned>(rank) /
                                                static_cast<unsigned>(ranks));
  const auto last = static_cast<std::uint64_t>(total * (static_cast<unsigned>(rank) + 1) /
                                               static_cast<unsigned>(ranks));
  const std::uint64_t basis = kind.basis.size();
  for (std::uint64_t id = first; id < last; ++id) {
    const std::uint64_t cell = id / basis;
    const std::uint64_t row = cell / lattice.cells[2];
    const std::uint64_t plane = row / lattice.cells[1];
    const Vec3 corner{static_cast<double>(plane), static_cast<double>(row % lattice.cells[1]),
                      static_cast<double>(cell % lattice.cells[2])};
    sample.atoms.id.push_back(id);
    sample.atoms.position.push_back(lattice.spacing * (corner + kind.basis[id % basis]));
  }
  sample.atoms.material.assign(sample.atoms.size(), 0);
  sample.atoms.spin.assign(sample.atoms.size(), {});
  return sample;
}

}  // namespace vampire
