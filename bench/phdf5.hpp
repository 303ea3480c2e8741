// What the cases of parallel HDF5 share: its settings, tuned as its users tune them.
#pragma once

#include "contestants.hpp"
#include "hdf5_check.hpp"

namespace sluice::bench {

/// A new file over MPI-IO, aligned to stripes, with collective metadata. Collective.
inline hid_t create_parallel_file(const World& world, const std::string& path) {
  constexpr hsize_t alignment_bytes = 4 << 20;
  constexpr hsize_t alignment_threshold_bytes = 64 << 10;
  const hid_t access = checked(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
  checked(H5Pset_fapl_mpio(access, world.comm(), MPI_INFO_NULL), "H5Pset_fapl_mpio");
  checked(H5Pset_alignment(access, alignment_threshold_bytes, alignment_bytes), "H5Pset_alignment");
  checked(H5Pset_coll_metadata_write(access, true), "H5Pset_coll_metadata_write");
  checked(H5Pset_all_coll_metadata_ops(access, true), "H5Pset_all_coll_metadata_ops");
  const hid_t file =
      checked(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access), "H5Fcreate");
  H5Pclose(access);
  return file;
}

/// `move` with the spaces of the memory, which holds the box densely, and of the box in the
/// dataset, and with the properties of a transfer.
template <class Move>
void move_box(hid_t dataset, std::span<const hsize_t> start, std::span<const hsize_t> count,
              H5FD_mpio_xfer_t mode, Move&& move) {
  const hid_t space = checked(H5Dget_space(dataset), "H5Dget_space");
  const hid_t memory = checked(
      H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), "H5Screate_simple");
  checked(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
          "H5Sselect_hyperslab");
  const hid_t transfer = checked(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
  checked(H5Pset_dxpl_mpio(transfer, mode), "H5Pset_dxpl_mpio");
  move(memory, space, transfer);
  H5Pclose(transfer);
  H5Sclose(memory);
  H5Sclose(space);
}

/// This rank's box.
inline void write_box(hid_t dataset, hid_t type, std::span<const hsize_t> start,
                      std::span<const hsize_t> count, H5FD_mpio_xfer_t mode, const void* data) {
  move_box(dataset, start, count, mode, [&](hid_t memory, hid_t space, hid_t transfer) {
    checked(H5Dwrite(dataset, type, memory, space, transfer, data), "H5Dwrite");
  });
}

/// H5Fflush alone does not promise more than a flush of libhdf5's own caches.
inline void flush_and_sync(hid_t file, const std::string& path) {
  checked(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
  sync_file(path);
}

}  // namespace sluice::bench
