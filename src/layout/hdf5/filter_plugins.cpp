#include "layout/hdf5/filter_plugins.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "codec/plugins.hpp"
#include "layout/encoding.hpp"
#include "layout/hdf5/dataset_facts.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/plugin_file.hpp"
#include "layout/hdf5/types.hpp"
#include "storage/private_copy.hpp"

namespace sluice::layout::hdf5 {

namespace {

#ifdef H5_DEFAULT_PLUGINDIR
constexpr const char* default_folder = H5_DEFAULT_PLUGINDIR;
#else
constexpr const char* default_folder = "/usr/local/hdf5/lib/plugin";
#endif
/// For HDF5_PLUGIN_PRELOAD: no plugins at all.
constexpr const char* no_plugins = "::";

std::vector<std::string> plugin_folders() {
  const char* const preload = std::getenv("HDF5_PLUGIN_PRELOAD");
  if (preload != nullptr && std::string_view(preload) == no_plugins) {
    return {};
  }
  const char* const said = std::getenv("HDF5_PLUGIN_PATH");
  std::string_view rest = said == nullptr ? default_folder : said;
  std::vector<std::string> folders;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end != 0) {
      folders.emplace_back(rest.substr(0, end));
    }
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return folders;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// The plugins of this process.
class Plugins {
 public:
  /// Null if there is none in the folders.
  std::shared_ptr<FilterPlugin> find(std::uint32_t id) {
    const std::lock_guard lock(mutex_);
    const auto known = found_.find(id);
    if (known != found_.end()) {
      return known->second;
    }
    for (const std::string& path : files_for(id)) {
      if (is_known(path)) {
        continue;
      }
      look_at(path);
      if (const auto found = found_.find(id); found != found_.end()) {
        return found->second;
      }
    }
    return nullptr;
  }

  std::vector<std::shared_ptr<FilterPlugin>> all() {
    const std::lock_guard lock(mutex_);
    for (const std::string& path : files_for(0)) {
      if (!is_known(path)) {
        look_at(path);
      }
    }
    std::vector<std::shared_ptr<FilterPlugin>> found;
    for (const auto& [id, plugin] : found_) {
      found.push_back(plugin);
    }
    return found;
  }

  /// Why a plugin is not there, and the remedy.
  std::string missing(std::uint32_t id) {
    const std::lock_guard lock(mutex_);
    std::string where;
    std::string bad;
    for (const std::string& folder : plugin_folders()) {
      std::string unlisted;
      const auto files = storage::files_ending_in(folder, ".so", unlisted);
      where +=
          (where.empty() ? "" : ", ") + folder + (unlisted.empty() ? "" : " (" + unlisted + ")");
      for (const std::string& path : files) {
        const auto look = looked_at_.find(path);
        if (look != looked_at_.end() && !look->second.why_not.empty()) {
          bad += (bad.empty() ? "" : ", ") + file_name(path) + " (" + look->second.why_not + ")";
        }
      }
    }
    return codec::plugin_name(id) + ": there is no plugin of HDF5 with filter number " +
           std::to_string(id) + " in " +
           (where.empty() ? "HDF5_PLUGIN_PATH, which is empty" : where) +
           (bad.empty() ? "" : ", where files were not usable: " + bad) + remedy(id);
  }

 private:
  static std::string remedy(std::uint32_t id) {
    return codec::plugin_name(id) == "lzf"
               ? ": h5py has it built in, and hdf5plugin lacks it: write the data again by h5py "
                 "with compression=\"gzip\""
               : ": install it (pip install hdf5plugin has many), and name its folder in "
                 "HDF5_PLUGIN_PATH (hdf5plugin.PLUGIN_PATH in Python)";
  }

  /// Files whose names suggest the plugin first: others need not be loaded then.
  static std::vector<std::string> files_for(std::uint32_t id) {
    const codec::KnownPlugin* known = codec::find_known_plugin(id);
    std::vector<std::string> files;
    for (const std::string& folder : plugin_folders()) {
      std::string unlisted;  // missing() asks for it
      const auto there = storage::files_ending_in(folder, ".so", unlisted);
      files.insert(files.end(), there.begin(), there.end());
    }
    if (known != nullptr) {
      std::stable_partition(files.begin(), files.end(), [&](const std::string& path) {
        return file_name(path).find(known->file) != std::string::npos;
      });
    }
    return files;
  }

  struct Look {
    std::string why_not;    ///< why the file is no filter; "": it is one
    bool may_pass = false;  ///< it could not be read
  };

  /// Files are looked at once, but for what may pass.
  bool is_known(const std::string& path) const {
    const auto look = looked_at_.find(path);
    return look != looked_at_.end() && !look->second.may_pass;
  }

  void look_at(const std::string& path) {
    std::string why_not;
    bool may_pass = false;
    std::shared_ptr<FilterPlugin> plugin;
    try {
      plugin = load_filter_plugin(path, why_not);
    } catch (const Error& e) {
      why_not = e.what();
      may_pass = e.code() != Code::format;
    }
    if (plugin && plugin->id < H5Z_FILTER_RESERVED) {  // as netCDF4's wheel has for deflate
      plugin.reset();
      why_not = "has the number of one of HDF5's own filters";
    }
    looked_at_[path] = plugin ? Look{} : Look{why_not, may_pass};
    if (plugin) {
      found_.try_emplace(plugin->id, plugin);
    }
  }

  std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<FilterPlugin>> found_;
  std::map<std::string, Look> looked_at_;  ///< by path
};

Plugins& plugins() {
  static auto* const only = new Plugins;  // libhdf5 has rows of it until the program ends
  return *only;
}

/// Null with a message if it cannot be used.
std::shared_ptr<FilterPlugin> find_usable(std::uint32_t id, std::string& why_not) {
  auto plugin = plugins().find(id);
  if (!plugin) {
    why_not = plugins().missing(id);
    return nullptr;
  }
  if (!plugin->refusal.empty()) {
    why_not = codec::plugin_name(id) + ": " + plugin->path + " (filter number " +
              std::to_string(id) + ") cannot be used: " + plugin->refusal;
    return nullptr;
  }
  return plugin;
}

/// For what libhdf5 itself reads and makes: it looks for no plugins.
void offer(FilterPlugin& plugin) {
  const QuietErrors quiet;
  check(H5Zregister(&plugin.in_library), plugin.path);
}

/// The plugin's own values, for chunks of `chunk` elements. With the lock of libhdf5 held.
codec::Parameters settle(const codec::Filter& asked, const FilterPlugin& plugin, const Handle& type,
                         const model::Dims& chunk, const std::string& name) {
  const std::string refused = name + ": " + codec::plugin_name(asked.id) + " (filter number " +
                              std::to_string(asked.id) + ") does not take ";
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), name);
  set_chunk(list.get(), chunk, name);
  check(H5Pset_filter(list.get(), static_cast<H5Z_filter_t>(asked.id), H5Z_FLAG_OPTIONAL,
                      asked.parameters.size(), asked.parameters.data()),
        name);
  const Handle space = dataspace(chunk);  // as libhdf5 does: a filter works on chunks
  const H5Z_class2_t& row = *plugin.settling;
  if (row.can_apply != nullptr && row.can_apply(list.get(), type.get(), space.get()) <= 0) {
    throw Error(Code::unsupported, refused + "a variable of this type and shape (chunks of " +
                                       chunk.text() + "): choose another, or other chunks");
  }
  if (row.set_local != nullptr && row.set_local(list.get(), type.get(), space.get()) < 0) {
    const std::string why = last_error();
    throw Error(Code::unsupported, refused + "these values, type and chunks of " + chunk.text() +
                                       (why.empty() ? "" : ": " + why));
  }
  unsigned flags = 0;
  unsigned config = 0;
  std::array<unsigned, codec::most_filter_values> values{};
  std::size_t count = values.size();
  checked(H5Pget_filter2(list.get(), 0, &flags, &count, values.data(), 0, nullptr, &config), name);
  if (count > values.size()) {
    throw Error(Code::unsupported, refused + "less than " + std::to_string(count) +
                                       " values: Sluice keeps " + std::to_string(values.size()));
  }
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

model::Dims chunk_in_file(Profile profile, const model::Definition& definition,
                          const model::Dims& tile) {
  const model::Dims chunk = dims_in_file(profile, definition, tile);
  return definition.stepped ? chunk.with_front(1) : chunk;
}

}  // namespace

std::shared_ptr<const codec::Method> find_plugin_method(std::uint32_t id, std::string& why_not) {
  const auto plugin = find_usable(id, why_not);
  if (!plugin) {
    return nullptr;
  }
  auto method = std::make_shared<codec::Method>();
  method->name = codec::plugin_name(id);
  method->id = id;
  method->compresses = true;
  method->is_plugin = true;
  method->make = [plugin] { return make_plugin_worker(plugin); };
  return method;
}

codec::Pipeline settled_filters(Profile profile, const model::Definition& definition,
                                const model::Dims& tile) {
  codec::Pipeline pipeline = pipeline_of(definition);
  if (codec::is_stored_text(definition.compress)) {
    return pipeline;
  }
  for (codec::Filter& filter : pipeline) {
    if (!codec::is_plugin(filter.id)) {
      continue;
    }
    std::string why_not;
    const auto plugin = find_usable(filter.id, why_not);
    if (!plugin) {
      throw Error(Code::unsupported, definition.name + ": " + why_not);
    }
    if (plugin->settling == nullptr) {
      throw Error(Code::unsupported,
                  definition.name + ": " + plugin->path +
                      " can be read with, but not written: " + plugin->settling_refusal);
    }
    offer(*plugin);
    const QuietErrors quiet;
    const Handle type = type_in_file(profile, definition.type);
#if defined(SLUICE_HDF5_FILE) || defined(SLUICE_HDF5_INSIDE)
    const std::lock_guard lock(library_mutex());
#endif
    filter.parameters =
        settle(filter, *plugin, type, chunk_in_file(profile, definition, tile), definition.name);
    offer(*plugin);  // some register themselves in set_local
  }
  return pipeline;
}

void require_filters(hid_t dataset, const std::string& name) {
  const Handle list = own(H5Dget_create_plist(dataset), name);
  const H5D_layout_t layout = H5Pget_layout(list.get());
  if (layout == H5D_VIRTUAL) {
    // Its sources, which libhdf5 opens, may have any.
    for (const auto& plugin : plugins().all()) {
      if (plugin->refusal.empty()) {
        offer(*plugin);
      }
    }
  }
  if (layout != H5D_CHUNKED) {
    return;
  }
  const codec::Pipeline filters = all_filters_of(list.get());
  if (const std::string why = codec::refuse_unchecked(filters); !why.empty()) {
    throw Error(Code::unsupported, name + ": " + why);
  }
  for (const codec::Filter& filter : filters) {
    std::string why_not;
    if (filter.id < H5Z_FILTER_RESERVED) {
      continue;  // HDF5's own
    }
    if (const auto plugin = find_usable(filter.id, why_not)) {
      offer(*plugin);
    } else {
      throw Error(Code::unsupported, name + ": " + why_not);
    }
  }
}

}  // namespace sluice::layout::hdf5
