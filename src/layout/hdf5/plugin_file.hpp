// One file of a plugin folder, loaded as a filter of HDF5.
//
// Invariants: a plugin that the process has loaded for another libhdf5 (h5py's) is left alone: what
// is called here is a copy of the file; whatever of libhdf5 a plugin calls is in the libhdf5 that
// Sluice calls, otherwise it is refused; a plugin that was loaded stays until the process ends.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "codec/filter.hpp"
#include "layout/hdf5/library.hpp"

namespace sluice::layout::hdf5 {

/// How memory is taken and given back in the plugin's own view.
struct PluginMemory {
  void* (*take)(std::size_t) = nullptr;
  void (*give_back)(void*) = nullptr;
};

struct FilterPlugin {
  std::string path;
  std::uint32_t id = 0;
  const H5Z_class2_t* row = nullptr;
  PluginMemory memory;
  /// Does the filter function call libhdf5? Then under its lock only.
  bool calls_hdf5 = false;
  /// May several threads call it, of those that do not call libhdf5?
  bool is_reentrant = false;
  /// The row for can_apply and set_local, which call libhdf5; null: `settling_refusal` says
  /// why not.
  const H5Z_class2_t* settling = nullptr;
  std::string settling_refusal;
  std::string refusal;        ///< why it cannot be used at all; "": it can
  H5Z_class2_t in_library{};  ///< as libhdf5 knows it: what set_local does is done before
  std::mutex mutex;
};

/// Null if the file is no filter of HDF5, and then `why_not` is a reason: "invalid ELF header".
std::shared_ptr<FilterPlugin> load_filter_plugin(const std::string& path, std::string& why_not);

/// A worker that calls the plugin.
std::unique_ptr<codec::Worker> make_plugin_worker(std::shared_ptr<FilterPlugin> plugin);

}  // namespace sluice::layout::hdf5
