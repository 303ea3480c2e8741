// Copies of bytes that this core will not read again.
#pragma once

#include <cstddef>

namespace sluice::exec {

/// As memcpy; large copies bypass the caches, so that the destination is not fetched first.
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;
/// Makes the copies of this thread visible to other threads that see a later release store of it.
void stream_fence() noexcept;

}  // namespace sluice::exec
