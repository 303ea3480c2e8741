// Datasets of HDF5: how one is created and extended, and rows of one that is a table or a list.
#pragma once

#include <array>
#include <string>

#include "layout/hdf5/handle.hpp"
#include "model/dims.hpp"

namespace sluice::layout::hdf5 {

/// Dimensions as libhdf5 takes them.
using Hsizes = std::array<hsize_t, model::max_rank>;
Hsizes hsizes_of(const model::Dims& dims);

/// A dataspace of `dims` whose first dimension has no limit.
Handle growing_space(const model::Dims& dims, const std::string& path);
/// Sets in a creation list that the dataset has no times, so that its bytes depend on its data
/// alone, and keeps its attributes in the order in which they are made, as netCDF-4 asks.
void set_order(hid_t list, const std::string& path);
/// Sets the chunks of a creation list.
void set_chunk(hid_t list, const model::Dims& chunk, const std::string& path);
/// Creates the dataset at `path`, whose groups are there. `list`: how, or H5P_DEFAULT.
Handle create_dataset(hid_t file, const std::string& path, hid_t type, hid_t space, hid_t list);

/// A dataset that grows along its first dimension, in chunks of `chunk`.
/// `fill`: one element, null for zeros.
Handle make_growing(hid_t file, const char* name, hid_t type, const model::Dims& dims,
                    const model::Dims& chunk, const void* fill = nullptr);

/// The dimensions of a dataset; Error damaged if it has more than Sluice supports.
model::Dims dims_of(hid_t dataset, const std::string& path);
/// Those of a dataset that must have `rank` of them, at most model::max_rank; Error damaged if it
/// has another number.
model::Dims dims_of(hid_t dataset, int rank, const std::string& path);
/// Is there space in the file for elements of a dataset? A failure is an Error.
bool has_storage(hid_t dataset, const std::string& path);
/// Makes a dataset larger or smaller.
void set_extent(hid_t dataset, const model::Dims& dims, const std::string& path);

/// Rows from row `first` on: `shape` is their number, and the shape of a row. `type`: that of
/// `values`. Error damaged if the dataset has another number of dimensions.
void read_rows(hid_t dataset, const std::string& path, hid_t type, std::uint64_t first,
               const model::Dims& shape, void* values);
void write_rows(hid_t dataset, const std::string& path, hid_t type, std::uint64_t first,
                const model::Dims& shape, const void* values);

}  // namespace sluice::layout::hdf5
