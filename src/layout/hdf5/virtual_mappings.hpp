// The mappings of a virtual dataset in the bytes in which a file has them, written without
// libhdf5's calls, which take some 28 microseconds a mapping.
//
// The format is that of the HDF5 File Format Specification, version 3.0: "Data Layout Message",
// virtual storage, with its "Global Heap Block for Virtual Datasets"; "Dataspace Selection" and
// "Global Heap". A block is one object of a global heap: version 0, the number of mappings, for
// each of them the source file, the source dataset, the source and the virtual selection, and the
// checksum lookup3 of all that.
//
// Invariants: a block is byte for byte what libhdf5 writes for the same mappings within the bounds
// of version 1.10 (tests/layout/virtual_mappings): selections of version 1, and of version 2 where
// an index needs more than 32 bits. libhdf5 allocates the block, at its exact size, and writes
// everything around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "layout/hdf5/handle.hpp"
#include "model/box.hpp"

namespace sluice::layout::hdf5 {

/// A box of a virtual dataset and where its elements are. Names not owned.
struct VirtualMapping {
  const std::string& file;
  const std::string& dataset;
  model::Box source;  ///< of the source dataset
  model::Box target;  ///< of the virtual dataset: as many elements
};

/// Error damaged, naming `what`, unless the mapping is one of a virtual dataset of `dims`.
void check_mapping(const VirtualMapping& mapping, const model::Dims& dims, const std::string& what);
/// Is it a name that libhdf5 takes as it is? It ends at a NUL, and % has a meaning in it.
bool is_literal_source(const std::string& name);

/// Bytes of a block without mappings, and of a mapping in a block.
inline constexpr std::uint64_t empty_block_bytes = 13;
std::uint64_t bytes_in_block(const VirtualMapping& mapping);

/// Writes a block. Error internal if it is too small, or too large when it is finished.
class BlockWriter {
 public:
  BlockWriter(std::span<std::byte> block, std::uint64_t mappings);
  void put(const VirtualMapping& mapping);
  /// Writes the checksum, when all mappings are there.
  void finish();

 private:
  template <class T>
  void put_number(T value);
  void put_name(const std::string& name);
  void put_selection(const model::Box& box);
  std::byte* take(std::size_t bytes);

  std::span<std::byte> block_;
  std::size_t at_ = 0;
};

/// Blocks that libhdf5 allocates: each dataset is made with one mapping whose source name is
/// unique, and so long that the block has its size.
class BlockPlaceholders {
 public:
  /// `unique`: a number that nothing else in the file contains as text.
  explicit BlockPlaceholders(std::uint64_t unique);

  /// Has a block of so many bytes place for the unique name?
  bool fits(std::uint64_t block_bytes) const;
  /// Makes `list` that of a virtual dataset of `dims` with a block of so many bytes, known by
  /// `number`. Once for a number.
  void add(hid_t list, const model::Dims& dims, std::uint32_t number, std::uint64_t block_bytes,
           const std::string& what);
  /// The blocks in `image`, the bytes of the whole file. Error internal, naming `what`, unless
  /// every one is there once.
  std::map<std::uint32_t, std::span<std::byte>> find(std::span<std::byte> image,
                                                     const std::string& what) const;

 private:
  std::string prefix_;
  std::map<std::uint32_t, std::uint64_t> bytes_;  ///< by number
};

}  // namespace sluice::layout::hdf5
