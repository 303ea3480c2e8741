// The caller's memory as a stream of bytes: a buffer, a datatype, a count.
//
// Invariant: byte s of the stream is byte s % size of copy s / size. Types may repeat (the same
// memory many times), have holes, descend, and have an extent of 0.
#pragma once

#include <span>

#include "mpiio/runs.hpp"

namespace sluice::mpiio {

constexpr std::int64_t page_bytes = 4096;

/// MPI counts with a sign.
constexpr std::size_t size_of(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

class Memory {
 public:
  Memory() = default;
  /// `count` of `type` at `base`; the type outlives this.
  Memory(std::byte* base, const Flat& type, std::int64_t count)
      : base_(base), type_(&type), count_(count), bytes_(count * type.size) {}
  /// Plain bytes.
  Memory(std::byte* base, std::int64_t bytes) : base_(base), bytes_(bytes) {}

  std::int64_t bytes() const { return bytes_; }
  /// The same memory, truncated.
  Memory first(std::int64_t bytes) const {
    Memory cut = *this;
    cut.bytes_ = bytes;
    return cut;
  }
  bool is_contiguous() const {
    return type_ == nullptr || type_->is_dense() || (type_->runs.size() == 1 && count_ == 1);
  }
  /// Address of byte `stream`. For contiguous memory.
  std::byte* at(std::int64_t stream) const {
    return base_ + (type_ == nullptr ? 0 : type_->runs[0].offset) + stream;
  }
  /// Copies a range of the stream, out of the memory and into it.
  void gather(std::int64_t stream, std::span<std::byte> into) const;
  void scatter(std::int64_t stream, std::span<const std::byte> from) const;

 private:
  template <class Copy>
  void walk(std::int64_t stream, std::size_t bytes, Copy&& copy) const;

  std::byte* base_ = nullptr;
  const Flat* type_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace sluice::mpiio
