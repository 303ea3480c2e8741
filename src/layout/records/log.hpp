// The grammar of files of format `records`: a header, and behind it one group a commit, each the
// data of that commit followed by an entry that says what the data is. docs/formats/records.md.
//
// Invariants: nothing that was written is ever changed, but for the root in the header, which says
// where the newest entry is and lies within one sector of the disk; every entry names the one
// before it, which lies below it; header, root and entries carry checksums. What a file claims
// never becomes memory before it was compared with the file's length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/catalog.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::records {

/// The header takes a page, so that the data behind it can be aligned.
inline constexpr std::uint64_t header_bytes = 4096;
inline constexpr std::uint64_t root_offset = 512;

/// The newest entry.
struct Root {
  std::uint64_t entries = 0;
  std::uint64_t offset = 0;  ///< of the entry in the file
  std::uint64_t bytes = 0;   ///< of the entry
};

/// One variable's elements in one commit: dense, row-major, in one piece.
struct Section {
  std::uint32_t variable = 0;
  model::Dims shape;
  std::uint64_t address = absent;  ///< absent where there are no elements
};

/// What one commit added.
struct Entry {
  Root previous;            ///< the entry before; `entries`: how many there were
  std::uint64_t steps = 0;  ///< of the file after the commit: those from here on are dropped
  CommitRow row;            ///< first_word: where its checksum words are in the file
  std::vector<model::Definition> definitions;  ///< those that are new, in their order
  std::vector<model::Attribute> attributes;    ///< new, or with a new value
  std::vector<Section> sections;
};

/// The first page of a file whose newest entry is `root`'s.
std::vector<std::byte> header_text(const Root& root);
/// What of it stands at root_offset.
std::vector<std::byte> root_text(const Root& root);
std::vector<std::byte> entry_text(const Entry& entry);

/// Does `file` begin as such files do?
bool is_log(storage::File& file);
/// Error format where it is none, version where it is of a later kind, truncated, damaged.
Root read_root(storage::File& file);
/// All entries, the oldest first. Error truncated, damaged.
std::vector<Entry> read_entries(storage::File& file, const Root& root);

}  // namespace sluice::layout::records
