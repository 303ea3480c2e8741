#include "layout/hdf5/datasets.hpp"

#include <algorithm>

#include "layout/hdf5/dataset_facts.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

namespace {

/// Those of a dataspace that must have `rank` of them.
Dims dims_of_space(hid_t space, int rank, const std::string& path) {
  if (checked(H5Sget_simple_extent_ndims(space), path) != rank) {
    throw Error(Code::damaged, path + ": has another number of dimensions than Sluice gave it");
  }
  return extents_of(space).dims;
}

/// The dataspace of a dataset, in which the rows are selected.
Handle selected_rows(hid_t dataset, const std::string& path, std::uint64_t first,
                     const Dims& shape) {
  Handle space = own(H5Dget_space(dataset), path);
  dims_of_space(space.get(), shape.rank(), path);
  const Hsizes start{first};
  const Hsizes count = hsizes_of(shape);
  check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                            nullptr),
        path);
  return space;
}

}  // namespace

Hsizes hsizes_of(const Dims& dims) {
  Hsizes sizes{};
  std::copy(dims.begin(), dims.end(), sizes.begin());
  return sizes;
}

Handle growing_space(const Dims& dims, const std::string& path) {
  const Hsizes extent = hsizes_of(dims);
  Hsizes limit = extent;
  limit[0] = H5S_UNLIMITED;
  return own(H5Screate_simple(dims.rank(), extent.data(), limit.data()), path);
}

void set_order(hid_t list, const std::string& path) {
  check(H5Pset_obj_track_times(list, false), path);
  check(H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), path);
}

void set_chunk(hid_t list, const Dims& chunk, const std::string& path) {
  check(H5Pset_chunk(list, chunk.rank(), hsizes_of(chunk).data()), path);
}

Handle create_dataset(hid_t file, const std::string& path, hid_t type, hid_t space, hid_t list) {
  return own(H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, list, H5P_DEFAULT), path);
}

Handle make_growing(hid_t file, const char* name, hid_t type, const Dims& dims, const Dims& chunk,
                    const void* fill) {
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), name);
  set_chunk(list.get(), chunk, name);
  if (fill != nullptr) {
    check(H5Pset_fill_value(list.get(), type, fill), name);
  }
  check(H5Pset_obj_track_times(list.get(), false), name);
  return create_dataset(file, name, type, growing_space(dims, name).get(), list.get());
}

Dims dims_of(hid_t dataset, const std::string& path) {
  const Handle space = own(H5Dget_space(dataset), path);
  if (checked(H5Sget_simple_extent_ndims(space.get()), path) > model::max_rank) {
    throw Error(Code::damaged, path + ": has more dimensions than Sluice reads");
  }
  return extents_of(space.get()).dims;
}

Dims dims_of(hid_t dataset, int rank, const std::string& path) {
  return dims_of_space(own(H5Dget_space(dataset), path).get(), rank, path);
}

bool has_storage(hid_t dataset, const std::string& path) {
  const bool is_there = H5Dget_storage_size(dataset) != 0;
  if (!is_there) {
    check_no_error(path);  // libhdf5 also returns 0 if it failed
  }
  return is_there;
}

void set_extent(hid_t dataset, const Dims& dims, const std::string& path) {
  check(H5Dset_extent(dataset, hsizes_of(dims).data()), path);
}

void read_rows(hid_t dataset, const std::string& path, hid_t type, std::uint64_t first,
               const Dims& shape, void* values) {
  const Handle space = selected_rows(dataset, path, first, shape);
  const herr_t status =
      H5Dread(dataset, type, dataspace(shape).get(), space.get(), H5P_DEFAULT, values);
  check_storage(path);
  check(status, path);
}

void write_rows(hid_t dataset, const std::string& path, hid_t type, std::uint64_t first,
                const Dims& shape, const void* values) {
  const Handle space = selected_rows(dataset, path, first, shape);
  check(H5Dwrite(dataset, type, dataspace(shape).get(), space.get(), H5P_DEFAULT, values), path);
}

}  // namespace sluice::layout::hdf5
