// The chunk grid of a Zarr array as its document has it: regular, or rectilinear (an extension of
// Zarr v3), which lists the lengths of the chunks along each dimension.
#pragma once

#include <string>

#include "layout/zarr/array.hpp"

namespace sluice::layout::zarr {

/// Error damaged: `why` is wrong with the document of the node `name`.
[[noreturn]] void refuse_array(const std::string& name, const std::string& why);

Json dims_json(const model::Dims& dims);
/// Error damaged where it is no list of extents.
model::Dims dims_of(const Json& json, const std::string& name);

/// With the lengths in their run-length form where that is shorter.
Json chunk_grid_json(const Array& array);
/// Reads the chunks of `array`, whose shape is known. `why` says what grid it is where it is one
/// that cannot be read. Error damaged.
void take_chunk_grid(const Json& grid, Array& array, const std::string& name, std::string& why);

}  // namespace sluice::layout::zarr
