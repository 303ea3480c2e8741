// An HDF5 file that is open for reading, as the parts of its catalog are given it.
#pragma once

#include <string>

#include "layout/hdf5/handle.hpp"
#include "layout/hdf5/log_reader.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// Nothing is owned, and all must outlive the object.
struct OpenFile {
  hid_t hdf5;
  storage::File& holder;
  const Log& log;
  const Contents& recorded;            ///< by the last commit
  bool has_netcdf_provenance = false;  ///< the file says that a netCDF program made it

  const std::string& path() const { return holder.path(); }
};

}  // namespace sluice::layout::hdf5
