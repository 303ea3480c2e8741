// The command line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "integrator.hpp"

namespace vampire {

struct Options {
  // the sample
  std::string lattice = "sc";
  std::vector<std::uint64_t> size{20, 20, 20};
  double spacing_angstrom = 3.54;
  double moment_mub = 1.72;
  std::string periodic;  ///< axes, e.g. "xy"; "none"; empty: the default of the kind of sample
  std::vector<double> box_angstrom;  ///< empty: inferred
  double cutoff_angstrom = 0;        ///< 0: 1.05 times the nearest distance
  std::string start = "up";          ///< up | random
  std::string start_from;            ///< folder of VAMPIRE snapshots
  std::int64_t snapshot = -1;        ///< -1: the last
  // the physics
  Physics physics;
  // the run
  std::uint32_t steps = 1000;
  std::uint32_t every = 100;
  std::string output = "spins.h5";
  std::string strategy = "auto";
  int writers = 0;  ///< 0: Sluice's choice
  bool digest = false;
};

/// What to do with a command line.
struct Parsed {
  Options options;
  std::string help;  ///< not empty: print it and stop, successfully
};

/// Error invalid_argument in one line. Local, the same on every rank.
Parsed parse(int argc, char** argv);

/// "xy" -> {true, true, false}; "none" -> none.
std::array<bool, 3> periodic_axes(const std::string& text);

}  // namespace vampire
