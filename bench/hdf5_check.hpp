// Verifies an HDF5 file by whichever libhdf5 the program is linked with, serial or parallel.
#pragma once

#include <array>
#include <hdf5.h>
#include <span>
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

/// A dataset of doubles, open for reading from the disk rather than from the page cache.
class Hdf5Doubles {
 public:
  Hdf5Doubles(const std::string& path, const char* name) {
    settle_file(path);
    file_ = checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen");
    dataset_ = checked(H5Dopen2(file_, name, H5P_DEFAULT), "H5Dopen2");
    space_ = checked(H5Dget_space(dataset_), "H5Dget_space");
    rank_ = checked(H5Sget_simple_extent_ndims(space_), "H5Sget_simple_extent_ndims");
  }
  ~Hdf5Doubles() {
    H5Sclose(space_);
    H5Dclose(dataset_);
    H5Fclose(file_);
  }
  Hdf5Doubles(const Hdf5Doubles&) = delete;
  Hdf5Doubles& operator=(const Hdf5Doubles&) = delete;

  int rank() const { return rank_; }
  /// A box of `count` values; both spans have rank() numbers.
  void read(std::span<const hsize_t> start, std::span<const hsize_t> extent, hsize_t count,
            double* out) const {
    const hid_t memory = checked(H5Screate_simple(1, &count, nullptr), "H5Screate_simple");
    checked(
        H5Sselect_hyperslab(space_, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr),
        "H5Sselect_hyperslab");
    checked(H5Dread(dataset_, H5T_NATIVE_DOUBLE, memory, space_, H5P_DEFAULT, out), "H5Dread");
    H5Sclose(memory);
  }

 private:
  hid_t file_ = H5I_INVALID_HID;
  hid_t dataset_ = H5I_INVALID_HID;
  hid_t space_ = H5I_INVALID_HID;
  int rank_ = 0;
};

/// Compares samples of dataset `name`, of shape (1, ranks * elements) or (ranks * elements), with
/// the pattern.
inline void verify_hdf5(const World& world, const std::string& path, const char* name,
                        std::uint64_t elements) {
  const Hdf5Doubles data(path, name);
  const int rank = data.rank();
  if (rank < 1 || rank > 2) throw std::runtime_error("verify: unexpected shape of " + path);
  verify(world, elements, [&](int writer, std::uint64_t first, std::uint64_t count, double* out) {
    const hsize_t element = static_cast<hsize_t>(writer) * elements + first;
    const std::array<hsize_t, 2> start{rank == 2 ? 0 : element, element};
    const std::array<hsize_t, 2> extent{rank == 2 ? 1 : count, count};
    data.read(start, extent, count, out);
  });
}

}  // namespace sluice::bench
