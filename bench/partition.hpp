// The decompositions of the case `strategies`: each rank has one box of a 3-D field of doubles.
//
// contiguous: slabs, every rank's elements are one run of the field. pencils: the ranks divide the
// second and third dimension, so that runs are 2 KiB and interleave. small: a rank has every
// ranks-th run of 4 KiB. ragged-<n>: a rank has every ranks-th run of n doubles, which need not end
// where anything else does. Element i of a rank's box (row-major) holds pattern(rank, i).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "common.hpp"

namespace sluice::bench {

struct Part {
  std::array<std::uint64_t, 3> shape{};  ///< of the whole field
  std::array<std::uint64_t, 3> start{};
  std::array<std::uint64_t, 3> count{};

  std::uint64_t elements() const { return count[0] * count[1] * count[2]; }
};

/// The box of `rank`, of `mib` MiB. Throws std::runtime_error for a pattern that is not one.
Part part_of(const std::string& pattern, int rank, int ranks, std::uint64_t mib);

/// What a rank reads of a field that was written as slabs: its slab (contiguous), or a part of
/// every row (pencils).
Part part_to_read(const World& world, const std::string& pattern, std::uint64_t mib);

/// Throws std::runtime_error if `values` are not those of `part` in a field written as slabs.
void check_read(const World& world, const Part& part, std::uint64_t mib,
                std::span<const double> values);

/// Reads `count` elements of the field from `start` on, which all lie in one row.
using ReadRow = std::function<void(const std::array<std::uint64_t, 3>& start, std::uint64_t count,
                                   double* out)>;

/// Compares rows spread over the next rank's box with the pattern. Throws std::runtime_error that
/// names the first difference.
void verify_rows(const World& world, const std::string& pattern, std::uint64_t mib,
                 const ReadRow& read);

/// The same for a file that holds the field from `offset` on and nothing else of interest.
void verify_field_posix(const World& world, const std::string& path, const std::string& pattern,
                        std::uint64_t mib, std::uint64_t offset, bool big_endian);

}  // namespace sluice::bench
