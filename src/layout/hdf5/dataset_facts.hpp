// What libhdf5 says of a dataset, in Sluice's terms: extents, chunks, filters, storage, type.
#pragma once

#include <string>

#include "codec/filter.hpp"
#include "layout/hdf5/handle.hpp"
#include "model/dims.hpp"

namespace sluice::layout::hdf5 {

struct Extents {
  model::Dims dims;
  model::Dims limits;  ///< H5S_UNLIMITED where there is none
};

/// Of a dataspace; empty where it has more dimensions than Sluice takes.
Extents extents_of(hid_t space);
/// Those of a dataset's creation list, where all of them can be undone here.
codec::Pipeline filters_of(hid_t list);
/// Error damaged where the chunks have another number of dimensions than `rank`.
model::Dims chunk_of(hid_t list, int rank, const std::string& path);
/// "contiguous", "chunked, deflate", "virtual", ...
std::string storage_text(hid_t list);
/// What to call a type that has no Sluice counterpart.
std::string foreign_type(hid_t type);

}  // namespace sluice::layout::hdf5
