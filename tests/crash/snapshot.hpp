// The content of a file, by two independent readers: plain libhdf5 on a copy in memory, and the
// Sluice reader on the storage.
//
// Invariant: equal snapshots hold the same variables, types, shapes, values (bit for bit) and
// attributes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "storage/storage.hpp"

namespace sluice::test {

struct Snapshot {
  /// Path, type and shape of each dataset and attribute: checksum of its bytes.
  std::map<std::string, std::uint64_t> items;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

/// The differences as text, for messages.
std::string difference(const Snapshot& expected, const Snapshot& found);

/// By libhdf5's own memory driver. Empty if it refuses the file. A later error, in a file that it
/// opened, is an exception: a plain reader would have failed in the middle.
std::optional<Snapshot> plain_snapshot(std::span<const std::byte> bytes);

/// The same of an index in a real folder, with its parts. Nothing where libhdf5 refuses the file or
/// one of the parts that it names.
std::optional<Snapshot> plain_set_snapshot(const std::string& path);

/// By commit::Input on one rank, checksums checked. Throws what the reader throws.
Snapshot sluice_snapshot(const std::shared_ptr<storage::Storage>& storage, const std::string& path);

}  // namespace sluice::test
