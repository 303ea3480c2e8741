#include "layout/hdf5/library.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#if defined(SLUICE_HDF5_FILE) || defined(SLUICE_HDF5_INSIDE)

#include <dlfcn.h>
#include <new>
#include <pthread.h>
#include <string>

#include "sluice/error.hpp"

#ifdef SLUICE_HDF5_FILE
namespace sluice::layout::hdf5 {

namespace {

/// The program's libhdf5 (h5py's) may have loaded the same files, and told them to call it:
/// layout/hdf5/filter_plugins loads copies, and registers them.
void stop_loading_filters(void* library) {
  constexpr unsigned filters = 1;  // H5PL_FILTER_PLUGIN
  const auto get = reinterpret_cast<herr_t (*)(unsigned*)>(dlsym(library, "H5PLget_loading_state"));
  const auto set = reinterpret_cast<herr_t (*)(unsigned)>(dlsym(library, "H5PLset_loading_state"));
  unsigned kinds = 0;
  if (get != nullptr && set != nullptr && get(&kinds) >= 0) {
    set(kinds & ~filters);
  }
}

/// The library ends with the process, and not before: else it would close its files when the
/// program calls exit(), while a thread of Sluice may be in it, and before files of static lifetime
/// that were opened first are destroyed. Its first call. A libhdf5 that the program has loaded too
/// is left as it is: the program may count on it.
void keep_until_the_end(void* library) {
  if (const auto keep = reinterpret_cast<herr_t (*)()>(dlsym(library, "H5dont_atexit"))) {
    keep();
  }
}

void* load() {
  int how = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;  // it has work to do when the program ends
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Its own calls stay inside it, even if the program defines the same names.
  how |= RTLD_DEEPBIND;
#endif
  const auto is_loaded = [](const char* name) {
    void* const found = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    return found != nullptr && dlclose(found) == 0;
  };
  const bool is_private = !is_loaded(SLUICE_HDF5_FILE) && !is_loaded(SLUICE_HDF5_SONAME);
  // By its path first: a name alone would find the program's libhdf5 if that has the same one.
  void* library = dlopen(SLUICE_HDF5_FILE, how);
  if (library == nullptr) {
    library = dlopen(SLUICE_HDF5_SONAME, how);
  }
  if (library == nullptr) {
    const char* said = dlerror();
    const std::string why = said == nullptr ? "unknown reason" : said;
    const bool is_limit = why.find(std::strerror(EMFILE)) != std::string::npos ||
                          why.find(std::strerror(ENOMEM)) != std::string::npos;
    throw Error(Code::unsupported,
                "libhdf5 cannot be loaded: " + why +
                    (is_limit ? ": raise the limits of open files and of memory (ulimit -n, -v)"
                              : ": install it, or build Sluice with the installed one"));
  }
  if (is_private) {
    keep_until_the_end(library);
  }
  stop_loading_filters(library);
  return library;
}

}  // namespace

void* find_symbol(const char* name) {
  static void* const library = load();
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) {
    throw Error(Code::unsupported, std::string(SLUICE_HDF5_FILE) + " has no " + name +
                                       ": it is not the version with which Sluice was built");
  }
  return symbol;
}

void* find_number(const char* name) {
  void* const own = find_symbol(name);
  void* const seen = dlsym(RTLD_DEFAULT, name);
  const bool is_shared = dlsym(RTLD_DEFAULT, "H5open") == find_symbol("H5open");
  return seen != nullptr && is_shared ? seen : own;
}

}  // namespace sluice::layout::hdf5
#endif

namespace sluice::layout::hdf5 {

namespace {

/// Locked during a fork, so that a forked child, which may open files of its own, finds libhdf5
/// between two calls. The child gets a new lock: the copied one belongs to a thread of its parent.
std::recursive_mutex* mutex_over_forks() {
  static auto* mutex = new std::recursive_mutex;  // needed until the program ends
  static const int registered = pthread_atfork([] { mutex->lock(); }, [] { mutex->unlock(); },
                                               [] { new (mutex) std::recursive_mutex; });
#ifdef SLUICE_HDF5_INSIDE
  // Else it would close its files when the program calls exit(), while a thread of Sluice may be in
  // it, and before files of static lifetime that were opened first are destroyed. Its first call.
  static const herr_t until_the_end = H5dont_atexit();
  static_cast<void>(until_the_end);
  // Plugins, such as those of netCDF4 (HDF5_PLUGIN_PATH), belong to the program's libhdf5: they
  // would call that one with identifiers of this one, and be unloaded before their dependencies
  // have ended. Sluice encodes and decodes with its own codecs.
  static const herr_t without_plugins = H5PLset_loading_state(0);
  static_cast<void>(without_plugins);
#endif
  static_cast<void>(registered);  // if it fails, a child may hang when it opens files of its own
  return mutex;
}

}  // namespace

std::recursive_mutex& library_mutex() { return *mutex_over_forks(); }

}  // namespace sluice::layout::hdf5

#endif

namespace sluice::layout::hdf5 {

namespace {

CallWatch own_watch;
CallWatch* watch = &own_watch;

}  // namespace

void watch_calls(CallWatch& other) { watch = &other; }

CallWatch& call_watch() { return *watch; }

void note_file(const std::string& path) {
  const std::size_t length = std::min(path.size(), sizeof watch->file - 1);
  std::memcpy(watch->file, path.data(), length);
  watch->file[length] = '\0';
}

std::string CallWatch::file_name() const { return {file, strnlen(file, sizeof file)}; }

bool takes_several_threads() {
#if defined(SLUICE_HDF5_FILE) || defined(SLUICE_HDF5_INSIDE)
  return true;
#else
  hbool_t is_safe = 0;
  return H5is_library_threadsafe(&is_safe) >= 0 && is_safe != 0;
#endif
}

}  // namespace sluice::layout::hdf5
