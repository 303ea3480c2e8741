// Verifies the field of the case `strategies` in an HDF5 file (netCDF-4 too), by whichever libhdf5
// the program is linked with.
#pragma once

#include "hdf5_check.hpp"
#include "partition.hpp"

namespace sluice::bench {

/// `name` has the field's shape, or a leading dimension of one step before it.
inline void verify_field_hdf5(const World& world, const std::string& path, const char* name,
                              const std::string& pattern, std::uint64_t mib) {
  settle_file(path);
  const hid_t file = checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen");
  const hid_t dataset = checked(H5Dopen2(file, name, H5P_DEFAULT), "H5Dopen2");
  const hid_t space = checked(H5Dget_space(dataset), "H5Dget_space");
  const int rank = checked(H5Sget_simple_extent_ndims(space), "H5Sget_simple_extent_ndims");
  if (rank != 3 && rank != 4) throw std::runtime_error("verify: unexpected shape of " + path);
  verify_rows(world, pattern, mib, [&](const auto& start, std::uint64_t count, double* out) {
    std::vector<hsize_t> first(start.begin(), start.end());
    std::vector<hsize_t> extent{1, 1, count};
    if (rank == 4) {
      first.insert(first.begin(), 0);
      extent.insert(extent.begin(), 1);
    }
    const hsize_t length = count;
    const hid_t memory = checked(H5Screate_simple(1, &length, nullptr), "H5Screate_simple");
    checked(
        H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, extent.data(), nullptr),
        "H5Sselect_hyperslab");
    checked(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, out), "H5Dread");
    H5Sclose(memory);
  });
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
}

}  // namespace sluice::bench
