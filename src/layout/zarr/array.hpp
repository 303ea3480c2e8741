// What Zarr says of an array, as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "codec/filter.hpp"
#include "layout/tiling.hpp"
#include "model/definition.hpp"

namespace sluice::layout::zarr {

using Json = nlohmann::ordered_json;

/// The name of a node's document, in the node's folder.
inline constexpr const char* document_name = "zarr.json";

struct Array {
  Type type;
  bool big_endian = false;
  model::Dims shape;  ///< steps first
  /// What one object holds (a shard where `sharded`), at most where lengths differ.
  model::Dims chunk;
  /// Of a rectilinear grid: the lengths of objects along each dimension; empty: `chunk`.
  Tiling::Lengths lengths = {};
  model::Dims inner;  ///< what is encoded at a time: `chunk` where not sharded
  bool sharded = false;
  bool index_first = false;  ///< of a shard: before the chunks, else behind them
  codec::Pipeline filters;
  std::vector<std::byte> fill = {};  ///< one element; empty: zeros
  char separator = '.';
  bool prefixed = true;  ///< do names of objects begin with "c"?
  std::vector<std::string> dimensions;

  std::uint64_t inner_count() const;  ///< of the largest chunk
  /// What objects hold.
  Tiling objects() const { return {chunk, lengths}; }
  /// What is encoded at a time.
  Tiling tiling() const { return sharded ? Tiling(inner) : objects(); }
  /// The object that holds the chunk with these coordinates, below the array's folder.
  std::string object_name(const model::Dims& chunk_at) const;
};

}  // namespace sluice::layout::zarr
