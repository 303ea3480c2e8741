// Verifies an HDF5 file by whichever libhdf5 the program is linked with, serial or parallel.
#pragma once

#include <array>
#include <hdf5.h>
#include <stdexcept>
#include <string>

#include "common.hpp"

namespace sluice::bench {

/// Throws where a call of libhdf5 returned a negative id or status; hands it on otherwise.
template <class T>
T checked(T result, const char* call) {
  if (result < 0) throw std::runtime_error(std::string(call) + " failed");
  return result;
}

/// Compares samples of dataset `name`, of shape (1, ranks * elements) or (ranks * elements), with
/// the pattern, read back from the disk rather than from the page cache.
inline void verify_hdf5(const World& world, const std::string& path, const char* name,
                        std::uint64_t elements) {
  settle_file(path);
  const hid_t file = checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen");
  const hid_t dataset = checked(H5Dopen2(file, name, H5P_DEFAULT), "H5Dopen2");
  const hid_t space = checked(H5Dget_space(dataset), "H5Dget_space");
  const int rank = checked(H5Sget_simple_extent_ndims(space), "H5Sget_simple_extent_ndims");
  if (rank < 1 || rank > 2) throw std::runtime_error("verify: unexpected shape of " + path);
  verify(world, elements, [&](int writer, std::uint64_t first, std::uint64_t count, double* out) {
    const hsize_t element = static_cast<hsize_t>(writer) * elements + first;
    const std::array<hsize_t, 2> start{rank == 2 ? 0 : element, element};
    const std::array<hsize_t, 2> extent{rank == 2 ? 1 : count, count};
    const hsize_t length = count;
    const hid_t memory = checked(H5Screate_simple(1, &length, nullptr), "H5Screate_simple");
    checked(
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr),
        "H5Sselect_hyperslab");
    checked(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, out), "H5Dread");
    H5Sclose(memory);
  });
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
}

}  // namespace sluice::bench
