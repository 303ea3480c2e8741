#include "commit/write/restart.hpp"

#include "sluice/error.hpp"

namespace sluice::commit {

std::uint64_t steps_after_restart(const std::string& path, std::int64_t restart_after,
                                  std::uint64_t steps) {
  if (restart_after < 0) {
    return steps;
  }
  if (static_cast<std::uint64_t>(restart_after) >= steps) {
    const std::string remedy =
        steps == 0 ? "leave restart_after out"
                   : "give " + std::to_string(steps - 1) +
                         " or less, such as what latest_good() of the opened file says";
    throw Error(Code::out_of_bounds, path + ": restart_after " + std::to_string(restart_after) +
                                         ": the file has " + std::to_string(steps) +
                                         " steps, counted from 0: " + remedy);
  }
  return static_cast<std::uint64_t>(restart_after) + 1;
}

}  // namespace sluice::commit
