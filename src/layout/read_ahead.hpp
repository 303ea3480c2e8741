// Tells a file which of its bytes will be read, where that lets it read several pieces at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "layout/placement.hpp"
#include "storage/storage.hpp"

namespace sluice::layout {

/// Boxes to be told of at a time: what is told of costs memory.
inline constexpr std::size_t most_told = 4096;

/// File::will_read() of the tiles' parts that `box` overlaps; of the first most_told parts only.
std::shared_ptr<void> read_ahead(storage::File& file, const Placement& placement,
                                 const model::Box& box);

/// The same of tiles that are read whole, in the order in which they will be decoded. `sizes`: of
/// the entries of `placement`.
std::shared_ptr<void> read_ahead(storage::File& file, const Placement& placement,
                                 const std::vector<std::uint64_t>& sizes,
                                 std::span<const std::uint64_t> wanted);

/// For boxes that are read one after the other: tell(i) before box i, as read_ahead().
class ReadingAhead {
 public:
  using BoxOf = std::function<const model::Box&(std::size_t)>;
  ReadingAhead(storage::File& file, const Placement& placement, std::size_t boxes, BoxOf box_of)
      : file_(file), placement_(placement), boxes_(boxes), box_of_(std::move(box_of)) {}

  void tell(std::size_t i);

 private:
  storage::File& file_;
  const Placement& placement_;
  const std::size_t boxes_;
  const BoxOf box_of_;
  std::shared_ptr<void> told_;
};

}  // namespace sluice::layout
