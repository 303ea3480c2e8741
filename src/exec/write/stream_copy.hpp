// Copying what will not be read again by this core.
#pragma once

#include <cstddef>

namespace sluice::exec {

/// As memcpy; large copies go past the caches, so that the destination is not fetched first.
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;
/// What this thread has copied is visible to whoever sees a later release store of it.
void stream_fence() noexcept;

}  // namespace sluice::exec
