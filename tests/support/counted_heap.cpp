#include "support/counted_heap.hpp"

#include <algorithm>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace sluice::test {

thread_local std::int64_t held_bytes = 0;
thread_local std::int64_t most_bytes = 0;
thread_local std::int64_t allocations_left = -1;

namespace {

void* counted_or_null(std::size_t bytes) noexcept {
  if (allocations_left >= 0 && allocations_left-- == 0) {
    return nullptr;
  }
  void* at = std::malloc(bytes == 0 ? 1 : bytes);
  if (at != nullptr) {
    held_bytes += static_cast<std::int64_t>(malloc_usable_size(at));
    most_bytes = std::max(most_bytes, held_bytes);
  }
  return at;
}

void* counted(std::size_t bytes) {
  void* at = counted_or_null(bytes);
  if (at == nullptr) {
    throw std::bad_alloc();
  }
  return at;
}

void uncounted(void* at) noexcept {
  if (at != nullptr) {
    held_bytes -= static_cast<std::int64_t>(malloc_usable_size(at));
    std::free(at);
  }
}

}  // namespace
}  // namespace sluice::test

void* operator new(std::size_t bytes) { return sluice::test::counted(bytes); }
void* operator new[](std::size_t bytes) { return sluice::test::counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return sluice::test::counted_or_null(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return sluice::test::counted_or_null(bytes);
}
void operator delete(void* at) noexcept { sluice::test::uncounted(at); }
void operator delete[](void* at) noexcept { sluice::test::uncounted(at); }
void operator delete(void* at, std::size_t) noexcept { sluice::test::uncounted(at); }
void operator delete[](void* at, std::size_t) noexcept { sluice::test::uncounted(at); }
