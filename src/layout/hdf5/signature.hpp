// Recognises an HDF5 file by its bytes, without libhdf5.
#pragma once

#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// Is HDF5's signature at 0, 512, 1024, ... (after a user block)? Superblocks of the HDF5 File
/// Format Specification, section II.A.
bool has_signature(storage::File& file);
/// Does the file begin with the signature and a superblock of a known version?
bool begins_with_superblock(storage::File& file);

}  // namespace sluice::layout::hdf5
