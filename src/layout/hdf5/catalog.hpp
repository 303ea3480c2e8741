// What an HDF5 file holds and where: the reading side of the layout.
//
// Opened on one rank; the others get Placements. Addresses of chunks are noted by the planner
// driver (H5Dread_chunk into the placeholder), so no raw data is read here and a lookup costs one
// walk of the chunk index, in files that Sluice wrote and in any other.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/placement.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

struct StoredVariable {
  model::Definition definition;
  bool big_endian = false;
  /// Can every rank read it by Placement? Otherwise (compressed, compact, virtual, external) only
  /// through the library: Catalog::read.
  bool placeable = false;
  model::Dims tile;  ///< chunk without the step dimension; the shape for contiguous data
  /// How it is kept, in words: "contiguous", "chunked", "chunked, deflate", "compact", "virtual",
  /// ...
  std::string storage;
};

/// A dataset that Sluice cannot read, and what its type is.
struct UnreadableDataset {
  std::string name;
  std::string type;
};

class Catalog {
 public:
  /// Reads the structure of `file` (which must outlive the catalog). Error format where it is not
  /// HDF5, truncated where it is shorter than its superblock says, version where /sluice has a
  /// newer major.
  static std::unique_ptr<Catalog> open(storage::File& file);

  /// Every dataset whose type has a Sluice counterpart, but for those of /sluice.
  const std::vector<StoredVariable>& variables() const noexcept { return variables_; }
  /// The other ones.
  const std::vector<UnreadableDataset>& unreadable() const noexcept { return unreadable_; }
  bool ours() const noexcept { return ours_; }
  /// Error format unless Sluice wrote the file.
  void require_ours() const;
  std::uint64_t steps() const noexcept { return steps_; }
  const std::vector<CommitRow>& commits() const noexcept { return commits_; }
  bool has_time() const noexcept { return has_time_; }
  std::uint64_t checksum_chunk_words() const noexcept { return checksum_chunk_words_; }
  std::uint64_t checksum_chunks() const noexcept { return checksum_chunks_; }

  /// Where a placeable variable's elements are, of one step (ignored for fixed variables). Chunks
  /// that overlap `region` are looked up, the others are absent in the answer.
  Placement locate(std::uint32_t variable, std::uint64_t step, const model::Box& region);
  /// Reads a box through libhdf5 (one rank, converted to dense little-endian file type).
  void read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
            std::span<std::byte> out);
  /// The checksum words of one commit.
  std::vector<std::uint64_t> checksum_words(const CommitRow& commit);
  /// The attributes of the file, its groups and variables.
  std::vector<model::Attribute> attributes();
  /// Where the file ends by its superblock.
  std::uint64_t end_of_allocation() const noexcept { return state_.end_of_allocation; }

 private:
  Catalog() = default;
  void open_file(storage::File& file);
  void load_log();
  void list_datasets();
  void add_dataset(const std::string& path);
  hid_t dataset(std::uint32_t variable);
  void read_rows(const char* name, std::vector<std::uint64_t>& words, std::uint64_t first,
                 std::uint64_t count);
  static herr_t visit(hid_t, const char* name, const H5O_info_t* info, void* into);

  DriverState state_;
  Handle hdf5_;
  bool ours_ = false;
  bool has_time_ = false;
  std::uint64_t steps_ = 0;
  std::uint64_t checksum_chunk_words_ = 0;
  std::uint64_t checksum_chunks_ = 0;
  std::vector<CommitRow> commits_;
  std::vector<StoredVariable> variables_;
  std::vector<UnreadableDataset> unreadable_;
  std::map<std::uint32_t, Handle> open_datasets_;
};

}  // namespace sluice::layout::hdf5
