// A short list of extents or coordinates, slowest dimension first (C order), without allocation.
//
// Invariant: rank <= max_rank; entries at and above rank are 0, so that == may compare all.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "sluice/error.hpp"

namespace sluice::model {

/// Seven dimensions of data (what Fortran allows) and the step.
inline constexpr int max_rank = 8;

class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::uint64_t> values)
      : Dims(std::span<const std::uint64_t>(values.begin(), values.size())) {}
  explicit Dims(std::span<const std::uint64_t> values) {
    if (values.size() > max_rank) {
      throw Error(Code::invalid_argument, "more than 8 dimensions");
    }
    for (std::uint64_t value : values) {
      push_back(value);
    }
  }
  /// `rank` entries, each `value`.
  static Dims filled(int rank, std::uint64_t value) {
    Dims dims;
    for (int i = 0; i < rank; ++i) {
      dims.push_back(value);
    }
    return dims;
  }

  int rank() const noexcept { return rank_; }
  bool empty() const noexcept { return rank_ == 0; }
  std::uint64_t operator[](int i) const noexcept { return values_[static_cast<std::size_t>(i)]; }
  std::uint64_t& operator[](int i) noexcept { return values_[static_cast<std::size_t>(i)]; }
  const std::uint64_t* data() const noexcept { return values_.data(); }
  const std::uint64_t* begin() const noexcept { return values_.data(); }
  const std::uint64_t* end() const noexcept { return values_.data() + rank_; }

  void push_back(std::uint64_t value) {
    if (rank_ == max_rank) {
      throw Error(Code::invalid_argument, "more than 8 dimensions");
    }
    values_[static_cast<std::size_t>(rank_++)] = value;
  }
  /// The same with `value` put before the first dimension.
  Dims with_front(std::uint64_t value) const {
    Dims dims;
    dims.push_back(value);
    for (std::uint64_t v : *this) {
      dims.push_back(v);
    }
    return dims;
  }
  /// The same without the first dimension.
  Dims without_front() const { return Dims(std::span<const std::uint64_t>(begin() + 1, end())); }

  /// Product of all entries, 1 for rank 0 (a scalar). Throws out_of_bounds above 2^64.
  std::uint64_t volume() const;
  /// "(10, 3)"
  std::string text() const;

  friend bool operator==(const Dims&, const Dims&) = default;

 private:
  std::array<std::uint64_t, max_rank> values_{};
  int rank_ = 0;
};

/// a * b, or Error out_of_bounds naming `what` where it exceeds 64 bits.
std::uint64_t checked_product(std::uint64_t a, std::uint64_t b, const char* what);

}  // namespace sluice::model
