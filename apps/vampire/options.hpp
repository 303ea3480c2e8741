// The command line.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
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
  std::string element = "Ag";  ///< in VAMPIRE's files
  std::string material_name = "Co";
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
  std::uint32_t equilibration = 0;  ///< steps before the first
  bool writes_start = true;         ///< an output before the first step
  bool only_last = false;           ///< no output but the last
  std::string output = "spins.h5";
  std::string strategy = "auto";
  int writers = 0;   ///< 0: Sluice's choice
  std::string mode;  ///< of VAMPIRE's own formats; empty: a file of Sluice's
  bool text = false;
  std::array<double, 3> output_low{0, 0, 0};  ///< with a mode: the part of the box that is written
  std::array<double, 3> output_high{1, 1, 1};
  std::uint64_t atoms_every = 1;  ///< with a mode: one atom of so many, by id
  bool digest = false;
  std::string checkpoint;              ///< file of checkpoints; empty: none
  std::uint64_t checkpoint_every = 0;  ///< steps; 0: by what a checkpoint costs
};

/// What to do with a command line.
struct Parsed {
  Options options;
  std::vector<std::string> notes;
  std::string help;  ///< not empty: print it and stop, successfully
};

/// The text of a file, given its name, or Error not_found. Called in the same way on every rank.
using ReadText = std::function<std::string(const std::string& path)>;

/// Error invalid_argument in one line. The same on every rank, as far as `read` is.
Parsed parse(int argc, char** argv, const ReadText& read);

/// "xy" -> {true, true, false}; "none" -> none.
std::array<bool, 3> periodic_axes(const std::string& text);

}  // namespace vampire
