// Forces and prescribed displacements of nodes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mesh.hpp"
#include "script.hpp"

namespace parabmu {

/// Along each axis: a force where not `fixed`, else the displacement. Plain data, so that it
/// travels as bytes.
struct Constraint {
  std::array<std::uint64_t, 3> node{};  ///< from 1, in x, y, z
  std::array<double, 3> value{};
  std::array<bool, 3> fixed{};
  std::uint32_t file = 0;  ///< which of the files named it
  std::uint64_t line = 0;
};

struct Constraints {
  std::vector<Constraint> all;  ///< the same on every rank
  std::vector<std::string> files;

  /// The lines of a file, read by rank 0. Error format (`path:line: why`). Collective.
  void add_file(MPI_Comm comm, const std::string& path);
  /// One line of the script itself. Local, the same on all ranks.
  void add_command(const std::string& script, const Command& command);
};

/// What the solver needs, for own nodes: 3 a node.
struct Load {
  std::vector<double> force;         ///< forces on one node add up
  std::vector<double> displacement;  ///< where fixed
  std::vector<std::uint8_t> fixed;
};

/// Error format (`path:line: why`) for a constraint of a node that is none of the mesh. Collective.
Load load_of(MPI_Comm comm, const Constraints& constraints, const Mesh& mesh);

}  // namespace parabmu
