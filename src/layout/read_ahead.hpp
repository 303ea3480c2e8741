// Tells a file which of its bytes will be read, where that lets it read several pieces at a time.
#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include "layout/placement.hpp"
#include "storage/far_reads.hpp"

namespace sluice::layout {

/// Boxes to be told of at a time: what is told of costs memory.
inline constexpr std::size_t most_told = 4096;

/// storage::will_read() of the tiles' parts that `boxes` overlap, in this order; of the first
/// most_told parts only.
std::shared_ptr<void> read_ahead(storage::File& file, const Placement& placement,
                                 std::span<const model::Box> boxes);

/// The same of tiles that are read whole, in the order in which they will be decoded. `sizes`: of
/// the entries of `placement`.
std::shared_ptr<void> read_ahead(storage::File& file, const Placement& placement,
                                 std::span<const std::uint64_t> sizes,
                                 std::span<const std::uint64_t> wanted);

/// For boxes that are read one after the other: tell(i) before box i.
class ReadingAhead {
 public:
  ReadingAhead(storage::File& file, const Placement& placement, std::span<const model::Box> boxes)
      : file_(file), placement_(placement), boxes_(boxes) {}

  void tell(std::size_t i) {
    if (i % most_told == 0) {
      told_ =
          read_ahead(file_, placement_, boxes_.subspan(i, std::min(most_told, boxes_.size() - i)));
    }
  }

 private:
  storage::File& file_;
  const Placement& placement_;
  const std::span<const model::Box> boxes_;
  std::shared_ptr<void> told_;
};

}  // namespace sluice::layout
