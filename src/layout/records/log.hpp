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
#include <vector>

#include "layout/records/entry.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::records {

/// The header takes a page, so that the data after it can be aligned.
inline constexpr std::uint64_t header_bytes = 4096;
inline constexpr std::uint64_t root_offset = 512;

/// The first page of a file whose newest entry is `root`'s.
std::vector<std::byte> header_text(const Root& root);
/// The part of it at root_offset.
std::vector<std::byte> root_text(const Root& root);

/// Does `file` begin like such a file?
bool is_log(storage::File& file);
/// Error format if it is not one, version if it is of a later version, truncated, damaged.
Root read_root(storage::File& file);
/// All entries, the oldest first. Error truncated, damaged.
std::vector<Entry> read_entries(storage::File& file, const Root& root);

}  // namespace sluice::layout::records
