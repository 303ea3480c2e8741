// Why a flush of a file is not made, or not in place.
#pragma once

#include <cstdint>
#include <string>

#include "plugin/lost_writes.hpp"
#include "sluice/error.hpp"

namespace sluice::plugin {

/// What keeps every later flush from being made. `has_failed_half_way`: recovery only can tell
/// which flush the file holds. Error wrong_state where there is anything.
void require_sound_data(const std::string& path, bool has_failed_half_way, bool has_lost_data,
                        const LostWrites& lost);

/// Error over_budget of a write for which there is no memory.
Error no_memory_error(const std::string& path, std::uint64_t offset, std::uint64_t length);

/// Error io of a flush, because the one before is not in place.
Error not_in_place_yet_error(const std::string& path);
/// The same of a close.
Error not_in_place_error(const std::string& path);

/// Error changed_outside of a file that is not at its path any more.
Error moved_error(const std::string& path);

}  // namespace sluice::plugin
