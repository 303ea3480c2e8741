// What a checkpoint says of itself: variables of a value a checkpoint, in a group of their own.
#pragma once

#include <string>
#include <string_view>

namespace sluice::detail {

/// The group that no registered name may be in.
inline constexpr std::string_view checkpoint_group = "checkpoint";
/// Is it the library's, or in its group?
inline bool is_own_name(std::string_view name) {
  return name.substr(0, name.find('/')) == checkpoint_group;
}
/// uint64: counts the checkpoints of the file from 1, also over restarts.
inline constexpr const char* checkpoint_number_name = "checkpoint/number";
/// int32: of the ranks that wrote it.
inline constexpr const char* checkpoint_ranks_name = "checkpoint/ranks";
/// float64: when its save() began, in seconds since 1970.
inline constexpr const char* checkpoint_saved_name = "checkpoint/saved";

/// The variable that holds bytes of the ranks: a row a rank, and a variable for each number of
/// ranks.
inline std::string bytes_variables(const std::string& name) { return name + "/of_"; }
inline std::string bytes_variable(const std::string& name, int ranks) {
  return bytes_variables(name) + std::to_string(ranks) + "_ranks";
}

}  // namespace sluice::detail
