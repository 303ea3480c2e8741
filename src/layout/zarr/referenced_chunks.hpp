// The chunks of a store that is a reference file: ranges of other files, or in the reference file
// itself.
//
// Invariant: a file is looked up once, and has the same addresses from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layout/placement.hpp"
#include "layout/zarr/manifest.hpp"
#include "layout/zarr/references.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::zarr {

/// Where a chunk is.
struct FoundChunk {
  const storage::Segment* object = nullptr;  ///< null: in the reference file itself
  Extent extent;
};

/// The name of a chunk in the store.
std::string key_of(const Manifest& manifest, std::uint32_t variable, const model::Dims& chunk_at);

class ReferencedChunks {
 public:
  /// Reads the reference file `file`, which must outlive the object.
  explicit ReferencedChunks(storage::File& file)
      : file_(file), references_(read_references(file)) {}

  /// Is a chunk of the array in the reference file itself?
  bool has_inline_chunks(const std::string& array) const {
    return references_.has_inline_chunks(array);
  }
  /// Nothing where the store does not hold it. Error not_found or truncated for a file that is not
  /// as the reference says.
  std::optional<FoundChunk> find(const std::string& key);
  /// Reads a box of a step chunk by chunk, as Catalog::read().
  void read_each(const Manifest& manifest, std::uint32_t variable, std::uint64_t step,
                 const model::Box& box, std::span<std::byte> out);

 private:
  const storage::Segment& file_named(const std::string& name);
  std::vector<std::byte> stored_bytes(const std::string& key, const FoundChunk& found);

  storage::File& file_;
  const References references_;
  std::map<std::string, storage::Segment> files_;  ///< to which references lead
};

}  // namespace sluice::layout::zarr
