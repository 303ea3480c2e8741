// VTKHDF: which rows of an array belong to each part of VTK's data set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/hdf5/open_file.hpp"

namespace sluice::layout::hdf5 {

/// As layout::Catalog::parts(), for the variable `name`. Error damaged if the lists that tell it
/// end too early.
std::vector<std::uint64_t> parts_of_array(const OpenFile& file, const std::string& name,
                                          std::uint64_t step);

}  // namespace sluice::layout::hdf5
