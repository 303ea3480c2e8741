#include "exec/write/stream_copy.hpp"

#include <cstdint>
#include <cstring>

// ThreadSanitizer does not see non-temporal copies, so they are not used under it.
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#define SLUICE_STREAMS
#include <emmintrin.h>
#endif

namespace sluice::exec {

void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
#ifdef SLUICE_STREAMS
  constexpr std::size_t worth_it_bytes = 4096;
  constexpr std::size_t vector_bytes = sizeof(__m128i);
  constexpr std::size_t line_bytes = 4 * vector_bytes;
  if (bytes >= worth_it_bytes) {
    const std::size_t head =
        (line_bytes - reinterpret_cast<std::uintptr_t>(to) % line_bytes) % line_bytes;
    std::memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= line_bytes; bytes -= line_bytes, to += line_bytes, from += line_bytes) {
      const auto* source = reinterpret_cast<const __m128i*>(from);
      auto* target = reinterpret_cast<__m128i*>(to);
      const __m128i a = _mm_loadu_si128(source);
      const __m128i b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2);
      const __m128i d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, a);
      _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c);
      _mm_stream_si128(target + 3, d);
    }
  }
#endif
  std::memcpy(to, from, bytes);
}

void stream_fence() noexcept {
#ifdef SLUICE_STREAMS
  _mm_sfence();
#endif
}

}  // namespace sluice::exec
