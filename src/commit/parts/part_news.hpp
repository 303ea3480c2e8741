// What a group tells the index of its commit, and its message to the rank that writes the index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layout/part_set.hpp"

namespace sluice::commit {

/// What the index must record of a group's commit. On the group's first rank; elsewhere only
/// `wrote` is set.
struct PartNews {
  bool wrote = false;
  layout::Part part;                ///< path as the group opens it; id 0: it has none yet
  std::uint64_t row = 0;            ///< of the part's stepped datasets
  std::vector<std::uint32_t> same;  ///< variables whose boxes are in the same place as in the
                                    ///< previous row
  /// The boxes of the others. The index sets part and first_step; `dataset` counts in `datasets`.
  std::vector<layout::Mapping> mappings;
  std::vector<std::string> datasets;
  struct Scalar {
    std::uint32_t variable = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<Scalar> scalars;  ///< fixed scalars that this group put

  std::vector<std::byte> to_bytes() const;
  static PartNews from_bytes(std::span<const std::byte> bytes);
};

}  // namespace sluice::commit
