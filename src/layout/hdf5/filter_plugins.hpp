// Plugins of HDF5 as codecs: found in the folders in which libhdf5 looks for them
// (HDF5_PLUGIN_PATH, otherwise its own), and called without HDF5 around them.
//
// Invariant: libhdf5 loads no filter plugin itself; what it needs for its own reading is registered
// here, so that it calls the same copy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "codec/filter.hpp"
#include "layout/hdf5/handle.hpp"
#include "layout/hdf5/profile.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

/// The method of a plugin, for codec::set_plugin_finder(). The variable HDF5_PLUGIN_PATH is read
/// each time, and a file is loaded once. Thread-safe.
std::shared_ptr<const codec::Method> find_plugin_method(std::uint32_t id, std::string& why_not);

/// The filters of a variable as they are in the file: a plugin's values are what its set_local
/// makes of those that were asked for. The same result for the same arguments. Error unsupported if
/// a plugin cannot be used, or does not take the variable.
codec::Pipeline settled_filters(Profile profile, const model::Definition& definition,
                                const model::Dims& tile);

/// Before libhdf5 reads a dataset itself: offers it the plugins of the dataset's filters. Error
/// unsupported if one cannot be used.
void require_filters(hid_t dataset, const std::string& name);

}  // namespace sluice::layout::hdf5
