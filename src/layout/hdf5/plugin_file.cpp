#include "layout/hdf5/plugin_file.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string_view>

#include "codec/plugins.hpp"
#include "layout/hdf5/handle.hpp"
#include "storage/private_copy.hpp"

namespace sluice::layout::hdf5 {

namespace {

#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr int own_names_first = RTLD_DEEPBIND;
#else
constexpr int own_names_first = 0;
#endif

std::string loader_message() {
  const char* const why = dlerror();
  return why == nullptr ? "cannot be loaded" : why;
}

/// A file as the loader has it.
struct Loaded {
  void* handle = nullptr;
  bool is_shared = false;  ///< the process had it before
};

/// A new copy. Libraries that are found beside the file ($ORIGIN) need the file itself.
Loaded load_copy(const std::string& path, std::string& why_not) {
  constexpr int how = RTLD_NOW | RTLD_LOCAL | own_names_first;
  const std::string copy = storage::private_copy(path);
  Loaded loaded;
  if (!copy.empty()) {
    loaded.handle = dlopen(copy.c_str(), how);
  }
  if (loaded.handle == nullptr) {
    void* const before = dlopen(path.c_str(), how | RTLD_NOLOAD);
    loaded = {before != nullptr ? before : dlopen(path.c_str(), how), before != nullptr};
  }
  if (loaded.handle == nullptr) {
    why_not = loader_message();
  }
  return loaded;
}

template <class Function>
Function function_of(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

/// The row of a filter; null if the library is none.
const H5Z_class2_t* row_of(void* library) {
  constexpr int is_filter = 0;  // H5PL_TYPE_FILTER
  const auto type = function_of<int (*)()>(library, "H5PLget_plugin_type");
  const auto info = function_of<const void* (*)()>(library, "H5PLget_plugin_info");
  if (type == nullptr || info == nullptr || type() != is_filter) {
    return nullptr;
  }
  const auto* const row = static_cast<const H5Z_class2_t*>(info());
  const bool is_usable =
      row != nullptr && row->version == H5Z_CLASS_T_VERS && row->filter != nullptr && row->id >= 0;
  return is_usable ? row : nullptr;
}

// -- which libhdf5 a plugin calls -----------------------------------------------------------------

/// What a library refers to by name.
struct Relocations {
  explicit Relocations(const link_map& map) : base(map.l_addr) {
    for (const auto* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
      const std::uint64_t value = entry->d_un.d_val;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols = at<ElfW(Sym)>(value);
          break;
        case DT_STRTAB:
          names = at<char>(value);
          break;
        case DT_RELA:
          lists[0].first = at<ElfW(Rela)>(value);
          break;
        case DT_RELASZ:
          lists[0].count = value / sizeof(ElfW(Rela));
          break;
        case DT_JMPREL:
          lists[1].first = at<ElfW(Rela)>(value);
          break;
        case DT_PLTRELSZ:
          lists[1].count = value / sizeof(ElfW(Rela));
          break;
        default:
          break;
      }
    }
  }
  /// Some loaders leave addresses as they are in the file.
  template <class Item>
  const Item* at(std::uint64_t address) const {
    return reinterpret_cast<const Item*>(address < base ? base + address : address);
  }

  struct List {
    const ElfW(Rela) * first = nullptr;
    std::uint64_t count = 0;
  };
  std::uint64_t base;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  List lists[2];
};

/// Where the loader found something of HDF5 that a library uses; `own`: in itself.
struct Use {
  std::string name;
  const void* found = nullptr;
  bool is_own = false;
};

/// Calls `visit` for everything of HDF5 that a library refers to; false if that cannot be known.
template <class Visit>
bool visit_uses(void* library, Visit&& visit) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) {
    return false;
  }
  const Relocations all(*map);
  if (all.symbols == nullptr || all.names == nullptr) {
    return false;
  }
  for (const Relocations::List& list : all.lists) {
    for (std::uint64_t i = 0; list.first != nullptr && i < list.count; ++i) {
      // The upper half is the symbol, 0 for none.
      const auto symbol = static_cast<std::uint32_t>(list.first[i].r_info >> 32);
      const ElfW(Sym)& used = all.symbols[symbol];
      const std::string_view name = all.names + used.st_name;
      if (symbol == 0 || name.rfind("H5", 0) != 0 || list.first[i].r_addend != 0) {
        continue;
      }
      const void* found = nullptr;
      std::memcpy(&found, reinterpret_cast<const void*>(all.base + list.first[i].r_offset),
                  sizeof found);
      const bool is_defined = used.st_shndx != SHN_UNDEF;
      const auto* const own = reinterpret_cast<const void*>(all.base + used.st_value);
      visit(Use{std::string(name), found, is_defined && found == own});
    }
  }
  return true;
}

const void* in_our_library(const std::string& name) {
#if defined(SLUICE_HDF5_FILE)
  try {
    return find_symbol(name.c_str());
  } catch (const Error&) {
    return nullptr;
  }
#elif defined(SLUICE_HDF5_INSIDE)
  static_cast<void>(name);
  return nullptr;
#else
  return dlsym(RTLD_DEFAULT, name.c_str());
#endif
}

/// The file of the libhdf5 that Sluice calls; "" if it is inside Sluice.
std::string our_library() {
  Dl_info info{};
  const void* const open = in_our_library("H5open");
  return open != nullptr && dladdr(open, &info) != 0 ? info.dli_fname : "";
}

constexpr const char* without_library =
    "it calls libhdf5, and the one of this build of Sluice is part of it, where a plugin cannot "
    "find it: use a build with a shared libhdf5";

/// Why what a plugin calls of libhdf5 is not ours; "" if it is, or calls none. `calls`: does it?
std::string refuse_links(void* library, bool& calls) {
  std::string refusal;
  const bool is_known = visit_uses(library, [&](const Use& use) {
    calls = calls || !use.is_own;
    if (!use.is_own && refusal.empty() && use.found != in_our_library(use.name)) {
      Dl_info info{};
      const bool has_file = use.found != nullptr && dladdr(use.found, &info) != 0;
      refusal = our_library().empty()
                    ? without_library
                    : "it calls " + use.name + " in " + (has_file ? info.dli_fname : "no library") +
                          ", and Sluice uses " + our_library() +
                          ": use a plugin that is built for that one, or one of hdf5plugin (PyPI)";
    }
  });
  if (!is_known) {
    calls = true;
    return "what it calls of libhdf5 cannot be found out";
  }
  return refusal;
}

using InitFilter = int (*)(const char*);

/// Plugins of hdf5plugin find libhdf5 by this function.
InitFilter init_of(void* library) { return function_of<InitFilter>(library, "init_filter"); }

/// Gives a plugin that is not linked to libhdf5 ours. The reason if that does not work.
std::string connect(const Loaded& loaded) {
  if (loaded.is_shared) {
    return "the process has loaded it for another libhdf5, and it cannot be loaded twice";
  }
  const std::string ours = our_library();
  if (ours.empty()) {
    return without_library;
  }
  H5open();
  return init_of(loaded.handle)(ours.c_str()) < 0 ? "it does not find what it calls in " + ours
                                                  : "";
}

PluginMemory memory_of(void* library) {
  if (own_names_first == 0) {
    return {std::malloc, std::free};
  }
  // Its own names come first, so a malloc in front of the C library's is not what it calls.
  PluginMemory memory{function_of<void* (*)(std::size_t)>(library, "malloc"),
                      function_of<void (*)(void*)>(library, "free")};
  return memory.take != nullptr && memory.give_back != nullptr
             ? memory
             : PluginMemory{std::malloc, std::free};
}

/// A plugin that finds libhdf5 by init_filter: one copy calls it and settles the values, and if the
/// filter function needs no libhdf5, another one that never heard of any is the filter.
void use_connected(FilterPlugin& plugin, const Loaded& first) {
  const codec::KnownPlugin* known = codec::find_known_plugin(plugin.id);
  const bool runs_alone = known != nullptr && known->needs_no_hdf5 && !first.is_shared;
  plugin.is_reentrant = runs_alone && known->is_reentrant;
  Loaded second = first;
  std::string why_not;
  if (runs_alone) {
    second = load_copy(plugin.path, why_not);
    second.is_shared = second.is_shared || second.handle == first.handle;
  }
  plugin.settling_refusal = second.handle == nullptr ? why_not : connect(second);
  plugin.settling = plugin.settling_refusal.empty() ? row_of(second.handle) : nullptr;
  plugin.calls_hdf5 = !runs_alone;
  if (!runs_alone) {
    plugin.refusal = plugin.settling_refusal;
  }
}

}  // namespace

std::shared_ptr<FilterPlugin> load_filter_plugin(const std::string& path, std::string& why_not) {
  const Loaded loaded = load_copy(path, why_not);
  if (loaded.handle == nullptr) {
    return nullptr;
  }
  const auto plugin = std::make_shared<FilterPlugin>();
  plugin->path = path;
  plugin->row = row_of(loaded.handle);
  if (plugin->row == nullptr) {
    why_not = "no filter of HDF5";
    dlclose(loaded.handle);
    return nullptr;
  }
  plugin->id = static_cast<std::uint32_t>(plugin->row->id);
  plugin->memory = memory_of(loaded.handle);
  bool calls = false;
  plugin->refusal = refuse_links(loaded.handle, calls);
  if (plugin->refusal.empty() && init_of(loaded.handle) != nullptr) {
    use_connected(*plugin, loaded);
  } else {
    const codec::KnownPlugin* known = codec::find_known_plugin(plugin->id);
    plugin->settling = plugin->row;
    plugin->calls_hdf5 = calls;
    plugin->is_reentrant = !calls && known != nullptr && known->is_reentrant;
  }
  plugin->in_library = *plugin->row;
  plugin->in_library.can_apply = nullptr;
  plugin->in_library.set_local = nullptr;
  return plugin;
}

namespace {

/// What `work` returns, which calls the filter function: with the lock that it needs.
template <class Work>
std::size_t locked(FilterPlugin& plugin, Work&& work) {
#if defined(SLUICE_HDF5_FILE) || defined(SLUICE_HDF5_INSIDE)
  if (plugin.calls_hdf5) {
    const std::lock_guard lock(library_mutex());
    return work();
  }
#endif
  if (plugin.is_reentrant) {
    return work();
  }
  const std::lock_guard lock(plugin.mutex);
  return work();
}

/// The buffer belongs to the plugin while it works: it may give it back and take another one.
class PluginWorker final : public codec::Worker {
 public:
  explicit PluginWorker(std::shared_ptr<FilterPlugin> plugin)
      : plugin_(std::move(plugin)), buffer_(nullptr, plugin_->memory.give_back) {}

  std::size_t encode(const codec::Parameters& parameters, std::span<const std::byte> in,
                     std::span<std::byte> out) override {
    const std::size_t size = run(0, parameters, in);
    if (size == 0 || size > out.size()) {
      buffer_.reset();
      return 0;
    }
    std::memcpy(out.data(), buffer_.get(), size);
    buffer_.reset();
    return size;
  }

  bool decode(const codec::Parameters& parameters, std::span<const std::byte> in,
              std::span<std::byte> out) override {
    if (!codec::is_plausible({plugin_->id, parameters}, in, out.size())) {
      return false;
    }
    const std::size_t size = run(H5Z_FLAG_REVERSE, parameters, in);
    const bool is_right = size == out.size();
    if (is_right) {
      std::memcpy(out.data(), buffer_.get(), size);
    }
    buffer_.reset();
    return is_right;
  }

 private:
  /// The bytes that are then in buffer_; 0 if it failed.
  std::size_t run(unsigned flags, const codec::Parameters& parameters,
                  std::span<const std::byte> in) {
    if (in.empty()) {
      return 0;
    }
    void* buffer = plugin_->memory.take(in.size());
    if (buffer == nullptr) {
      throw std::bad_alloc();
    }
    std::memcpy(buffer, in.data(), in.size());
    std::size_t room = in.size();
    std::size_t size = 0;
    try {
      size = locked(*plugin_, [&] {
        return plugin_->row->filter(flags, parameters.size(), parameters.data(), in.size(), &room,
                                    &buffer);
      });
    } catch (...) {
      return 0;  // of a C++ plugin; whether the buffer is still there is not known, so it is left
    }
    buffer_.reset(static_cast<std::byte*>(buffer));
    return buffer == nullptr || size > room ? 0 : size;
  }

  std::shared_ptr<FilterPlugin> plugin_;
  std::unique_ptr<std::byte, void (*)(void*)> buffer_;
};

}  // namespace

std::unique_ptr<codec::Worker> make_plugin_worker(std::shared_ptr<FilterPlugin> plugin) {
  return std::make_unique<PluginWorker>(std::move(plugin));
}

}  // namespace sluice::layout::hdf5
