// Plain values to and from a byte string, for messages between ranks of one run (same program, same
// machine type: native byte order, no versions). Reading past the end is Error internal.
//
// Invariant: what ByteWriter makes of a value never changes, because files hold it: the hashes of
// layout::Contents and the entries of records are made of its bytes (tests/layout/stored_bytes).
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "model/box.hpp"

namespace sluice::model {

/// Reads a T at `at`, aligned or not.
template <class T>
requires std::is_trivially_copyable_v<T> T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Those of a text.
inline std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

class ByteWriter {
 public:
  /// Not for types with padding if the bytes are compared or hashed.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
  }
  void put(const std::string& text) {
    put(text.size());
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), from, from + text.size());
  }
  void put(const Dims& dims) {
    put(dims.rank());
    for (const std::uint64_t value : dims) {
      put(value);
    }
  }
  void put(const Box& box) {
    put(box.start);
    put(box.count);
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const std::vector<T>& values) {
    put(values.size());
    const auto* from = reinterpret_cast<const std::byte*>(values.data());
    bytes_.insert(bytes_.end(), from, from + values.size() * sizeof(T));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    if constexpr (std::is_same_v<T, Dims>) {
      const int rank = get<int>();
      Dims dims;
      for (int d = 0; d < rank; ++d) {
        dims.push_back(get<std::uint64_t>());
      }
      return dims;
    } else if constexpr (std::is_same_v<T, Box>) {
      Box box;
      box.start = get<Dims>();
      box.count = get<Dims>();
      return box;
    } else {
      T value;
      std::memcpy(&value, take(sizeof(T)), sizeof(T));
      return value;
    }
  }
  std::string get_string() {
    const auto size = get<std::size_t>();
    return {reinterpret_cast<const char*>(take(size)), size};
  }
  template <class T>
  std::vector<T> get_vector() {
    const auto size = get<std::size_t>();
    if (size > (bytes_.size() - position_) / sizeof(T)) {
      throw Error(Code::internal, "message between ranks is too short");
    }
    std::vector<T> values(size);
    if (size != 0) {
      std::memcpy(values.data(), take(size * sizeof(T)), size * sizeof(T));
    }
    return values;
  }
  bool at_end() const noexcept { return position_ == bytes_.size(); }

 private:
  const std::byte* take(std::size_t count) {
    if (count > bytes_.size() - position_) {
      throw Error(Code::internal, "message between ranks is too short");
    }
    const std::byte* at = bytes_.data() + position_;
    position_ += count;
    return at;
  }

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace sluice::model
