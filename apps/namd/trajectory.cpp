#include "trajectory.hpp"

#include <cstdio>
#include <map>

#include "ways.hpp"

namespace namd {

Way way_of(const std::string& word) {
  static const std::map<std::string, Way> words = {{"sluice", Way::sluice},
                                                   {"files", Way::files},
                                                   {"in-turn", Way::in_turn},
                                                   {"at-once", Way::at_once}};
  const auto found = words.find(word);
  if (found == words.end()) {
    throw Error(Code::invalid_argument,
                "unknown way \"" + word + "\": use sluice, files, in-turn or at-once");
  }
  return found->second;
}

std::string path_of_step(const std::string& path, std::uint64_t step) {
  char number[24];
  std::snprintf(number, sizeof number, ".%06llu", static_cast<unsigned long long>(step));
  return path + number;
}

std::unique_ptr<Trajectory> make_trajectory(MPI_Comm comm, const TrajectoryOptions& options) {
  if (options.writers < 1 || options.writers > size_of(comm)) {
    throw Error(Code::invalid_argument, std::to_string(options.writers) + " writers of " +
                                            std::to_string(size_of(comm)) + " ranks");
  }
  return options.way == Way::sluice ? make_sluice(comm, options) : make_own(comm, options);
}

void compare(const std::string& path, std::uint64_t step, std::uint64_t first,
             const std::vector<Position>& found) {
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    if (found[i] != position_of(first + i, step)) {
      throw Error(Code::damaged, path + ": atom " + std::to_string(first + i) + " of step " +
                                     std::to_string(step) +
                                     " has another position than was written");
    }
  }
}

void verify_trajectory(MPI_Comm comm, const TrajectoryOptions& options) {
  if (options.way == Way::sluice) {
    verify_sluice(comm, options);
    return;
  }
  const Share share = share_of(options.atoms, rank_of(comm), size_of(comm));
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    agree(comm, [&] {
      compare(path_of_step(options.path, step), step, share.first, read_own(options, step, share));
    });
  }
}

}  // namespace namd
