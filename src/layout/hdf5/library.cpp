#include "layout/hdf5/library.hpp"

#ifdef SLUICE_HDF5_FILE

#include <dlfcn.h>
#include <string>

#include "sluice/error.hpp"

namespace sluice::layout::hdf5 {

namespace {

void* load() {
  int how = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;  // it has work to do when the program ends
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Its own calls stay inside it, though the program may define the same names.
  how |= RTLD_DEEPBIND;
#endif
  // By its place first: a name alone would find the program's libhdf5 if that has the same one.
  void* library = dlopen(SLUICE_HDF5_FILE, how);
  if (library == nullptr) {
    library = dlopen(SLUICE_HDF5_SONAME, how);
  }
  if (library == nullptr) {
    const char* why = dlerror();
    throw Error(Code::unsupported, std::string("libhdf5 cannot be loaded: ") +
                                       (why == nullptr ? "unknown reason" : why) +
                                       ": install it, or build Sluice with the one that is there");
  }
  return library;
}

}  // namespace

void* find_symbol(const char* name) {
  static void* const library = load();
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) {
    throw Error(Code::unsupported, std::string(SLUICE_HDF5_FILE) + " has no " + name +
                                       ": it is another version than Sluice was built with");
  }
  return symbol;
}

void* find_number(const char* name) {
  void* const own = find_symbol(name);
  void* const seen = dlsym(RTLD_DEFAULT, name);
  const bool is_shared = dlsym(RTLD_DEFAULT, "H5open") == find_symbol("H5open");
  return seen != nullptr && is_shared ? seen : own;
}

std::recursive_mutex& library_mutex() {
  static auto* mutex = new std::recursive_mutex;  // needed until the program ends
  return *mutex;
}

}  // namespace sluice::layout::hdf5

#endif

namespace sluice::layout::hdf5 {

bool takes_several_threads() {
#ifdef SLUICE_HDF5_FILE
  return true;
#else
  hbool_t is_safe = 0;
  return H5is_library_threadsafe(&is_safe) >= 0 && is_safe != 0;
#endif
}

}  // namespace sluice::layout::hdf5
