// What the decoders of the LZ family (LZ4, BloscLZ, LZF) have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace sluice::codec {

/// Writes what an LZ compressor tells it: bytes of the input, and repetitions of what was written.
class Unpacker {
 public:
  Unpacker(std::span<const std::byte> in, std::span<std::byte> out) : in_(in), out_(out) {}

  bool has_more() const { return read_ < in_.size(); }
  bool is_full() const { return written_ == out_.size(); }
  /// The next byte of the input; false at its end.
  bool take(std::size_t& value) {
    if (!has_more()) {
      return false;
    }
    value = std::to_integer<std::size_t>(in_[read_++]);
    return true;
  }
  /// Adds bytes to `value` until one is less than 255.
  bool take_more(std::size_t& value) {
    std::size_t byte = 255;
    while (byte == 255) {
      if (!take(byte)) {
        return false;
      }
      value += byte;
    }
    return true;
  }
  bool copy(std::size_t count) {
    if (count > in_.size() - read_ || count > out_.size() - written_) {
      return false;
    }
    std::copy_n(in_.begin() + static_cast<std::ptrdiff_t>(read_), count,
                out_.begin() + static_cast<std::ptrdiff_t>(written_));
    read_ += count;
    written_ += count;
    return true;
  }
  /// What was written `distance` before; it may reach into itself.
  bool repeat(std::size_t distance, std::size_t count) {
    if (distance == 0 || distance > written_ || count > out_.size() - written_) {
      return false;
    }
    for (std::size_t i = 0; i < count; ++i, ++written_) {
      out_[written_] = out_[written_ - distance];
    }
    return true;
  }

 private:
  std::span<const std::byte> in_;
  std::span<std::byte> out_;
  std::size_t read_ = 0;
  std::size_t written_ = 0;
};

}  // namespace sluice::codec
