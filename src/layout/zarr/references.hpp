// Reference files of kerchunk: a Zarr store of version 2 whose chunks are ranges of other files, in
// one JSON document (versions 0 and 1 of it).
//
// The rule for paths: a reference names files in the folder of the reference file, or below it, and
// no others; a relative path begins at that folder.
//
// Invariants: what a reference names is checked before it is used: the path here, the range where
// the length of its file is known; no generator and no template runs code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "layout/zarr/metadata.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::zarr {

/// The ending of the names of reference files.
inline constexpr const char* references_ending = ".json";

/// One key of a store: a range of a file, or the bytes themselves.
struct Reference {
  std::string file;       ///< below the folder of the reference file; empty: `bytes` are meant
  bool is_whole = false;  ///< the whole file
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::vector<std::byte> bytes = {};

  bool is_inline() const noexcept { return file.empty(); }
};

class References {
 public:
  /// `path`: of the reference file. Error damaged, or unsupported for what it cannot be read.
  static References parse(std::span<const std::byte> text, const std::string& path);

  /// Nothing where there is no such key.
  const Reference* find(const std::string& key) const;
  /// Is a chunk of the array in the reference file itself?
  bool has_inline_chunks(const std::string& array) const;
  /// The documents of the store: "g/x/.zarray" and so on.
  Json documents(const std::string& path) const;

 private:
  std::map<std::string, Reference> all_;
};

/// Was `file` opened as a reference file?
bool is_references(storage::File& file);
References read_references(storage::File& file);

}  // namespace sluice::layout::zarr
