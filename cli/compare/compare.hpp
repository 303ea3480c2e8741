// Compares the same elements of two files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "model/box.hpp"
#include "model/bytes.hpp"
#include "sluice/types.hpp"

namespace sluice::cli {

/// Two numbers are equal if |a - b| <= absolute or |a - b| <= relative * max(|a|, |b|); without
/// either, if their bits are. Two NaNs are equal under a tolerance (also of 0); other values
/// (booleans, strings) only if their bits are.
struct Tolerance {
  std::optional<double> absolute;
  std::optional<double> relative;
  bool is_exact() const { return !absolute && !relative; }
};

/// One pair of elements that are not equal bit for bit.
struct Pair {
  double gap = -1;  ///< |a - b|; infinite if one is NaN; 0 if they are not numbers
  std::uint64_t step = 0;
  model::Dims at;
  std::string a;  ///< as text
  std::string b;
};

struct Differences {
  std::uint64_t elements = 0;   ///< compared
  std::uint64_t differing = 0;  ///< by more than the tolerance
  std::optional<Pair> largest;  ///< of all that are not equal bit for bit; the first one if several
                                ///< are equal

  void merge(const Differences& other);
  void write_to(model::ByteWriter& out) const;
  static Differences read_from(model::ByteReader& in);
};

/// Compares the elements of `part` (dense, little-endian) of one step and adds the differences.
void compare(std::span<const std::byte> a, std::span<const std::byte> b, const Type& type,
             const model::Box& part, std::uint64_t step, const Tolerance& tolerance,
             Differences& into);

}  // namespace sluice::cli
