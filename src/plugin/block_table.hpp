// The file beside an HDF5 file that has the checksums of its blocks: FILE.sluice-checksums.
//
// Format: a header of 64 bytes, then a checksum of 8 bytes for each block, in the order of the
// file, little-endian. A checksum of 0 is not known. The last block ends with the file.
//
// Invariants: a table says of which state of the file it is, by the size and the time of
// modification of that; of another state it says nothing. It is written in place: one that was cut
// short by a crash does not match the digest in its header, and says nothing either.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/endings.hpp"
#include "storage/storage.hpp"

namespace sluice::plugin {

inline constexpr std::uint64_t checksum_block_bytes = 64 << 10;

using storage::block_table_path;  ///< "PATH.sluice-checksums"
/// Of a block's bytes: never 0.
std::uint64_t block_checksum(std::span<const std::byte> bytes);

struct BlockTable {
  std::uint64_t file_bytes = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t digest = 0;  ///< of all entries
  std::vector<std::uint64_t> checksums;

  bool is_of(storage::File& file) const;
  /// The number of bytes of block `number`.
  std::uint64_t length_of(std::uint64_t number) const;
  /// Changes one entry, and the digest.
  void set(std::uint64_t number, std::uint64_t checksum);
  void resize(std::uint64_t new_file_bytes);
};

/// The table beside `path`; empty where there is none, or none that is complete. Errors: those of
/// opening and reading it.
std::optional<BlockTable> read_block_table(storage::Storage& storage, const std::string& path);
/// Removes the table beside `path`, complete or not. False: something else has that name.
bool remove_block_table(storage::Storage& storage, const std::string& path);

/// Writes the entries `changed`, which ascend, and the header behind them.
void write_block_table(storage::File& to, const BlockTable& table,
                       std::span<const std::uint64_t> changed);

}  // namespace sluice::plugin
