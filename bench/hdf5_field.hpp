// Verifies the field of the case `strategies` in an HDF5 file (netCDF-4 too), by whichever libhdf5
// the program is linked with.
#pragma once

#include "hdf5_check.hpp"
#include "partition.hpp"

namespace sluice::bench {

/// `name` has the field's shape, or a leading dimension of one step before it.
inline void verify_field_hdf5(const World& world, const std::string& path, const char* name,
                              const std::string& pattern, std::uint64_t mib) {
  const Hdf5Doubles data(path, name);
  const int rank = data.rank();
  if (rank != 3 && rank != 4) throw std::runtime_error("verify: unexpected shape of " + path);
  verify_rows(world, pattern, mib, [&](const auto& start, std::uint64_t count, double* out) {
    std::vector<hsize_t> first(start.begin(), start.end());
    std::vector<hsize_t> extent{1, 1, count};
    if (rank == 4) {
      first.insert(first.begin(), 0);
      extent.insert(extent.begin(), 1);
    }
    data.read(first, extent, count, out);
  });
}

}  // namespace sluice::bench
