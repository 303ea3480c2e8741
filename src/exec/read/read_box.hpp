// Reads dense boxes of a variable from the tiles of a file.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "layout/portion.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

/// Reads the elements of `box` into `out` as dense row-major file bytes. Elements of tiles that the
/// file does not hold are `fill_element` (one element's bytes). Short runs are read in larger
/// windows of at most `layout::portion_bytes`. Error truncated if the file ends too early.
void read_box(storage::File& file, const layout::Placement& placement, const model::Box& box,
              std::span<const std::byte> fill_element, std::span<std::byte> out);

}  // namespace sluice::exec
