// Which steps an output keeps that goes on from an earlier step.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::commit {

/// The number of steps, of `steps`, that an output opened to append with `restart_after` keeps.
/// Error out_of_bounds if there is no such step.
std::uint64_t steps_after_restart(const std::string& path, std::int64_t restart_after,
                                  std::uint64_t steps);

}  // namespace sluice::commit
