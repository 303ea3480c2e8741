// Names of dimensions with which xarray opens a store.
#pragma once

#include "layout/zarr/manifest.hpp"

namespace sluice::layout::zarr {

/// xarray opens nothing of a group in which one name has two sizes, or is also that of a value
/// without dimensions. The first array that says a name gives it its size; a later one, and one
/// with a fixed dimension called like that of the steps, gets the names of one without names in its
/// document. Its definition keeps its own.
void rename_conflicting(Manifest& manifest);

}  // namespace sluice::layout::zarr
