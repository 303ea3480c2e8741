// Messages from one thread to another through memory shared by their processes.
//
// Invariants: one writer, one reader; messages arrive whole and in order; the memory is a pipe of
// stream_bytes, whatever the length of the message: the writer of a longer one waits for the
// reader.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace sluice::exec {

/// Resides in shared memory; zeroed memory is an empty pipe.
struct SpscPipe {
  static constexpr std::uint64_t stream_bytes = 16ULL << 10;
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> read;
  alignas(64) std::byte bytes[stream_bytes];

  /// Writes as much as fits; returns the number of bytes.
  std::size_t put(std::span<const std::byte> from) noexcept {
    const std::uint64_t at = written.load(std::memory_order_relaxed);
    const std::uint64_t room = stream_bytes - (at - read.load(std::memory_order_acquire));
    const std::size_t count = std::min<std::uint64_t>(room, from.size());
    for (std::size_t i = 0; i < count; ++i) {
      bytes[(at + i) % stream_bytes] = from[i];
    }
    written.store(at + count, std::memory_order_release);
    return count;
  }
  /// Appends all available bytes; returns their number.
  std::size_t take(std::vector<std::byte>& into) {
    const std::uint64_t at = read.load(std::memory_order_relaxed);
    const std::uint64_t count = written.load(std::memory_order_acquire) - at;
    for (std::uint64_t i = 0; i < count; ++i) {
      into.push_back(bytes[(at + i) % stream_bytes]);
    }
    read.store(at + count, std::memory_order_release);
    return count;
  }
};

/// The bytes of the next messages received so far.
class MessageReader {
 public:
  std::vector<std::byte>& came() noexcept { return came_; }
  bool has_message() const {
    return came_.size() >= sizeof(std::uint64_t) &&
           came_.size() - sizeof(std::uint64_t) >= length();
  }
  std::optional<std::vector<std::byte>> next() {
    if (!has_message()) {
      return std::nullopt;
    }
    const auto first = came_.begin() + sizeof(std::uint64_t);
    const auto last = first + static_cast<std::ptrdiff_t>(length());
    std::vector<std::byte> message(first, last);
    came_.erase(came_.begin(), last);
    return message;
  }

 private:
  std::uint64_t length() const {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, came_.data(), sizeof bytes);
    return bytes;
  }
  std::vector<std::byte> came_;
};

/// A message prefixed by its length.
inline std::vector<std::byte> framed(std::span<const std::byte> message) {
  const std::uint64_t length = message.size();
  const auto head = std::as_bytes(std::span(&length, 1));
  std::vector<std::byte> out;
  out.reserve(head.size() + message.size());
  out.insert(out.end(), head.begin(), head.end());
  out.insert(out.end(), message.begin(), message.end());
  return out;
}

}  // namespace sluice::exec
