// How an HDF5 file is known by its bytes, without libhdf5.
#pragma once

#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// Is HDF5's signature at 0, 512, 1024, ... (behind a user block)? Superblocks of the HDF5 File
/// Format Specification, section II.A.
bool has_signature(storage::File& file);
/// Does the file begin with the signature and a superblock of a version that is known?
bool begins_with_superblock(storage::File& file);

}  // namespace sluice::layout::hdf5
