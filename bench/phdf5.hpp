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

/// H5Fflush alone does not promise more than a flush of libhdf5's own caches.
inline void flush_and_sync(hid_t file, const std::string& path) {
  checked(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
  sync_file(path);
}

}  // namespace sluice::bench
