// The properties of a dataset in libhdf5, in Sluice's terms: extents, chunks, filters, storage,
// type.
#pragma once

#include <cstdint>
#include <string>

#include "codec/filter.hpp"
#include "layout/hdf5/handle.hpp"
#include "model/dims.hpp"

namespace sluice::layout::hdf5 {

struct Extents {
  model::Dims dims;
  model::Dims limits;  ///< H5S_UNLIMITED if there is none
};

/// The dimensions of a dataspace; empty if it has more than Sluice supports.
Extents extents_of(hid_t space);
/// The filters in a dataset's creation list, with up to codec::most_filter_values values each.
codec::Pipeline all_filters_of(hid_t list);
/// The same, if all of them can be undone here; else none.
codec::Pipeline filters_of(hid_t list);
/// Error damaged if the chunks have another number of dimensions than `rank`.
model::Dims chunk_of(hid_t list, int rank, const std::string& path);
/// Are chunks that end beyond the dataset stored unfiltered? Their filter masks do not show it.
bool has_plain_edges(hid_t dataset, const std::string& path);
/// How many words of 64 bits a dataset of Sluice's own can have at most in a file of so many bytes.
/// A copy of another program may have filters.
std::uint64_t most_own_words(hid_t list, std::uint64_t file_bytes);
/// "contiguous", "chunked, deflate", "virtual", ...
std::string storage_text(hid_t list);
/// The name of a type without a Sluice counterpart, for messages.
std::string foreign_type(hid_t type);

}  // namespace sluice::layout::hdf5
