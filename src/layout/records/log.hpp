// The grammar of files of format `records`: a header, followed by one group for each commit: the
// data of that commit and an entry that describes it. docs/formats/records.md.
//
// Invariants: written bytes are never changed, except the root in the header, which gives the
// position of the newest entry and is within one sector of the disk; every entry refers to the one
// before it, which is below it; header, root and entries have checksums. No size in a file becomes
// memory before it was compared with the length of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/catalog.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::records {

/// The header takes a page, so that the data after it can be aligned.
inline constexpr std::uint64_t header_bytes = 4096;
inline constexpr std::uint64_t root_offset = 512;

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

/// The first page of a file whose newest entry is `root`'s.
std::vector<std::byte> header_text(const Root& root);
/// The part of it at root_offset.
std::vector<std::byte> root_text(const Root& root);
std::vector<std::byte> entry_text(const Entry& entry);

/// Does `file` begin like such a file?
bool is_log(storage::File& file);
/// Error format if it is not one, version if it is of a later version, truncated, damaged.
Root read_root(storage::File& file);
/// All entries, the oldest first. Error truncated, damaged.
std::vector<Entry> read_entries(storage::File& file, const Root& root);

}  // namespace sluice::layout::records
