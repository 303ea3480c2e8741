// What zarr.json says of an array or a group (Zarr v3), as text and as values.
//
// Invariant: nothing that a document says is believed before it was checked: an array that this
// library cannot read is told from a document that is damaged.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/filter.hpp"
#include "layout/zarr/array.hpp"
#include "model/definition.hpp"

namespace sluice::layout::zarr {

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
