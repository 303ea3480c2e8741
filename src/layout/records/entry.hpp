// What the log of a file of format `records` has: an entry for each commit, and the root.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/catalog.hpp"
#include "model/definition.hpp"

namespace sluice::layout::records {

/// The newest entry.
struct Root {
  std::uint64_t entries = 0;
  std::uint64_t offset = 0;  ///< of the entry in the file
  std::uint64_t bytes = 0;   ///< of the entry
};

/// One variable's elements in one commit: dense, row-major, contiguous.
struct Section {
  std::uint32_t variable = 0;
  model::Dims shape;
  std::uint64_t address = absent;  ///< absent if there are no elements
};

/// The additions of one commit.
struct Entry {
  Root previous;            ///< the entry before; `entries`: how many there were
  std::uint64_t steps = 0;  ///< of the file after the commit: later steps are dropped
  CommitRow row;            ///< first_word: offset of its checksum words in the file
  std::vector<model::Definition> definitions;  ///< new ones, in their order
  std::vector<model::Attribute> attributes;    ///< new, or with a new value
  std::vector<Section> sections;
};

}  // namespace sluice::layout::records
