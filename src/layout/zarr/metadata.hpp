// What zarr.json says of an array or a group (Zarr v3), as text and as values.
//
// Invariant: nothing that a document says is believed before it was checked: an array that this
// library cannot read is told from a document that is damaged.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
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

/// The filters of Zarr that stand for HDF5's: Blosc, which shuffles and compresses.
codec::Pipeline pipeline_in_zarr(const codec::Pipeline& pipeline);

Json array_document(const Array& array, const Json& attributes);
Json group_document(const Json& attributes);
/// Nothing where this library cannot read the array: `why` says what it is. Error damaged.
std::optional<Array> array_in(const Json& document, const std::string& name, std::string& why);

Json json_of(const model::AttributeValue& value);
/// `kind`: as which Sluice wrote it. Used only where the JSON is still such a value: another
/// program may have changed it. Nothing for what has no counterpart.
std::optional<model::AttributeValue> value_of(const Json& json,
                                              std::optional<model::ValueKind> kind);
/// Why it has none.
std::string why_no_value(const Json& json);

/// The text of a document. NaN, Infinity and -Infinity are written as json of Python does.
std::string text_of(const Json& json,
                    Json::error_handler_t on_error = Json::error_handler_t::strict);
/// Error damaged, naming the store and the document, where it is not JSON. NaN, Infinity and
/// -Infinity are numbers, as json of Python writes them.
Json parse(std::span<const std::byte> bytes, const std::string& path,
           const std::string& document = document_name);

}  // namespace sluice::layout::zarr
