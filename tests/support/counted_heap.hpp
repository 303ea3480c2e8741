// The heap memory that a thread allocates by `new`, for tests of memory. Link counted_heap.cpp.
#pragma once

#include <cstdint>

namespace sluice::test {

/// For this thread: allocated and not freed; the maximum of it since it was last reset.
extern thread_local std::int64_t held_bytes;
extern thread_local std::int64_t most_bytes;
/// After so many allocations of this thread one fails; below 0: none does.
extern thread_local std::int64_t allocations_left;

}  // namespace sluice::test
