// The root document of a store that Sluice writes: all metadata of the store in one file, so that
// one rename is a commit. Its consolidated metadata are what zarr-python and xarray read; what only
// Sluice needs is in the attribute "sluice".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/layout.hpp"
#include "layout/zarr/metadata.hpp"
#include "layout/zarr/seal.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::zarr {

inline constexpr const char* commits_name = "sluice/commits";
inline constexpr const char* checksums_name = "sluice/checksums";
/// Of the layout of a store that Sluice writes.
inline constexpr int store_version = 1;
/// Of the document of a varying variable: which array says the rows of each step.
inline constexpr const char* varying_attribute = "rows_vary";
/// Rows of an array that is written anew with every commit, in one object.
inline constexpr std::uint64_t rows_per_object = 256;

/// Of one object of the checksums.
inline constexpr std::uint64_t most_checksum_words = (1 << 20) / 8;

/// An array, and what its document does not say of the variable that it is.
struct Stored {
  model::Definition definition;
  Array array;
};

/// Of the first `rows` commits those of step `steps` and later count no more.
struct Drop {
  std::uint64_t rows = 0;
  std::uint64_t steps = 0;
};

/// What another program put into a store of Sluice: each commit writes it again as it was.
struct Kept {
  std::map<std::string, Json> documents;   ///< of the arrays and groups that it made
  std::map<std::string, Json> attributes;  ///< of every node, without Sluice's own
};

struct Manifest {
  int version = 3;  ///< of Zarr
  bool ours = false;
  /// Another program wrote it, and copied what a store of Sluice says of itself: left out here.
  bool is_copy = false;
  bool is_array = false;  ///< the root is an array, no group
  /// As Sluice wrote it, by its checksum; else another program wrote it anew.
  bool is_sealed = false;
  std::uint64_t steps = 0;
  std::uint64_t rows = 0;  ///< commits
  std::uint64_t checksum_chunk_words = 0;
  std::uint64_t checksum_chunks = 0;
  bool has_time = false;
  std::vector<Drop> drops;
  std::vector<Stored> arrays;  ///< without Sluice's own
  std::vector<model::Attribute> attributes;
  std::vector<UnreadableDataset> unreadable;
  std::vector<UnreadableDataset> unread_attributes;
  std::vector<std::string> empty_groups;
  Kept kept;  ///< of a store of Sluice
};

/// A document of the store: its name below the store's folder, and its text.
using Documents = std::map<std::string, std::string>;

/// The name of a node's document in the store.
std::string in_folder(const std::string& node);
/// All documents that `manifest` makes, the root's among them.
Documents documents_of(const Manifest& manifest);
/// Reads the root document of the store `file`, and those of its nodes where the root does not have
/// them. Error damaged.
Manifest read_manifest(storage::File& file);
/// Documents of a store that are not as its root says; none where Sluice did not write it.
std::vector<Document> stale_documents(storage::File& file);

/// The array of the times, of so many steps.
Array time_array(std::uint64_t steps);
Array commits_array(std::uint64_t rows);

/// All commits that there were, also those that were dropped.
std::vector<CommitRow> read_rows(storage::File& file, const Manifest& manifest);

/// Does the file begin as a root document?
bool is_zarr(storage::File& file);

/// An index of a shard: offset and size of every inner chunk.
struct IndexEntry {
  std::uint64_t offset = absent;
  std::uint64_t bytes = absent;
};
std::uint64_t index_bytes(std::uint64_t entries);
std::vector<std::byte> encode_index(const std::vector<IndexEntry>& entries);
/// Error damaged, beginning with `what`, where the checksum is not right.
std::vector<IndexEntry> decode_index(std::span<const std::byte> bytes, const std::string& what);

}  // namespace sluice::layout::zarr
