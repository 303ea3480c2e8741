// The settings of this interface: the variables SLUICE_MPIIO and SLUICE_MPIIO_*.
//
// Invariants: a value that is not allowed counts as none, and so does an empty one. What is wrong
// with the settings is said once, on rank 0 of the program, when the first file is opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::mpiio {

/// true, on, yes, 1, or their opposites, in any case of letters; empty: another word.
std::optional<bool> switch_of(std::string_view word);
/// The switch of a setting; `standard` where that is not set, or has another word.
bool is_switched_on(const char* setting, bool standard);
/// SLUICE_MPIIO_STORAGE; empty where this is left to the interface.
std::string asked_storage();
/// SLUICE_MPIIO_BUDGET_MIB; empty where that is not set.
std::optional<std::int64_t> asked_budget_mib();

/// Tells of settings that have no meaning. `rank`: of this process in the program.
void say_wrong_settings(int rank);

}  // namespace sluice::mpiio
