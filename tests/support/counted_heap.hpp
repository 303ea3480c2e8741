// What a thread takes of the heap by `new`, for tests of memory. Link counted_heap.cpp.
#pragma once

#include <cstdint>

namespace sluice::test {

/// Of this thread: taken and not given back; the most of it since somebody set that.
extern thread_local std::int64_t held_bytes;
extern thread_local std::int64_t most_bytes;

}  // namespace sluice::test
