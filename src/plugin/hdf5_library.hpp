// The HDF5 that called the driver: a process may have several, each with its own files.
#pragma once

#include <cstring>
#include <dlfcn.h>

#include "plugin/hdf5_abi.hpp"

namespace sluice::plugin {

/// Tells the loaded libraries of a process apart; null: the address is in none.
inline const void* library_at(const void* address) {
  Dl_info found = {};
  return ::dladdr(address, &found) != 0 ? found.dli_fbase : nullptr;
}

/// Looks names up in the loaded library that holds an address.
class Hdf5Library {
 public:
  explicit Hdf5Library(const void* address) {
    if (::dladdr(address, &found_) == 0) {
      return;
    }
    handle_ = ::dlopen(found_.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle_ == nullptr) {
      handle_ = ::dlopen(nullptr, RTLD_LAZY);  // HDF5 is linked into the program
    }
  }
  ~Hdf5Library() {
    if (handle_ != nullptr) {
      ::dlclose(handle_);
    }
  }
  Hdf5Library(const Hdf5Library&) = delete;
  Hdf5Library& operator=(const Hdf5Library&) = delete;

  /// Null where this library has no such name, even if another one has.
  void* find(const char* name) const {
    void* const symbol = handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
    Dl_info where = {};
    const bool is_ours =
        symbol != nullptr && ::dladdr(symbol, &where) != 0 && where.dli_fbase == found_.dli_fbase;
    return is_ours ? symbol : nullptr;
  }
  /// 0 where it is not there.
  abi::Id id(const char* name) const {
    const void* const symbol = find(name);
    abi::Id value = 0;
    if (symbol != nullptr) {
      std::memcpy(&value, symbol, sizeof value);
    }
    return value;
  }

 private:
  Dl_info found_ = {};
  void* handle_ = nullptr;
};

}  // namespace sluice::plugin
