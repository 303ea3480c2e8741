// Copying what will not be read again by this core.
#pragma once

#include <cstddef>

namespace sluice::exec {

/// As memcpy; large copies go past the caches, so that the destination is not fetched first. What
/// was copied is visible to whoever sees a later release store of this thread.
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace sluice::exec
