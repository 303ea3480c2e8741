#include "plugin/access_list.hpp"

#include "plugin/hdf5_library.hpp"

namespace sluice::plugin {

AccessList access_list_of(const void* caller, abi::Id list) noexcept {
  constexpr const char* clears_marks = "clear_status_flags";  // of HDF5's own tools
  AccessList found;
  if (list <= 0) {
    return found;
  }
  const Hdf5Library library(caller);
  using Locking = abi::Status (*)(abi::Id list, bool* asks, bool* ignores_disabled);
  if (const auto locking = reinterpret_cast<Locking>(library.find("H5Pget_file_locking"))) {
    bool asks = true;
    bool ignores_disabled = false;
    found.asks_locks = locking(list, &asks, &ignores_disabled) < 0 || asks;
  }
  using Exists = int (*)(abi::Id list, const char* name);
  using Get = abi::Status (*)(abi::Id list, const char* name, void* value);
  const auto exists = reinterpret_cast<Exists>(library.find("H5Pexist"));
  const auto get = reinterpret_cast<Get>(library.find("H5Pget"));
  if (exists != nullptr && get != nullptr && exists(list, clears_marks) > 0) {
    bool clears = false;
    found.clears_marks = get(list, clears_marks, &clears) >= 0 && clears;
  }
  return found;
}

}  // namespace sluice::plugin
