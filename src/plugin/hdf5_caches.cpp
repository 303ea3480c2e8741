#include "plugin/hdf5_caches.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <sys/types.h>
#include <vector>

#include "plugin/hdf5_abi.hpp"
#include "plugin/hdf5_library.hpp"

namespace sluice::plugin {

namespace {

constexpr unsigned files = 0x01;        // H5F_OBJ_FILE
constexpr abi::Id of_all_files = 0x1f;  // H5F_OBJ_ALL
constexpr int of_this_file = 0;         // H5F_SCOPE_LOCAL

struct Functions {
  explicit Functions(const void* caller)
      : library(caller),
        count(reinterpret_cast<decltype(count)>(library.find("H5Fget_obj_count"))),
        list(reinterpret_cast<decltype(list)>(library.find("H5Fget_obj_ids"))),
        number(reinterpret_cast<decltype(number)>(library.find("H5Fget_fileno"))),
        flush(reinterpret_cast<decltype(flush)>(library.find("H5Fflush"))) {}
  bool are_there() const {
    return count != nullptr && list != nullptr && number != nullptr && flush != nullptr;
  }

  Hdf5Library library;  // stays loaded
  ssize_t (*count)(abi::Id file, unsigned types);
  ssize_t (*list)(abi::Id file, unsigned types, std::size_t most, abi::Id* ids);
  abi::Status (*number)(abi::Id file, unsigned long* number);
  abi::Status (*flush)(abi::Id object, int scope);
};

/// Looked up once for each address: that takes as long as a flush of little.
const Functions& functions_of(const void* caller) {
  static std::mutex mutex;
  static auto* const known = new std::map<const void*, Functions>;  // until the process has ended
  const std::lock_guard lock(mutex);
  return known->try_emplace(caller, caller).first->second;
}

std::vector<abi::Id> open_files(const Functions& hdf5) {
  const ssize_t count = hdf5.count(of_all_files, files);
  std::vector<abi::Id> all(count < 0 ? 0 : static_cast<std::size_t>(count));
  const ssize_t listed = all.empty() ? 0 : hdf5.list(of_all_files, files, all.size(), all.data());
  all.resize(listed < 0 ? 0 : std::min(all.size(), static_cast<std::size_t>(listed)));
  return all;
}

}  // namespace

bool flush_caches(const void* caller, unsigned long file_number) {
  const Functions& hdf5 = functions_of(caller);
  if (!hdf5.are_there()) {
    return true;
  }
  // Not dataset by dataset: HDF5 keeps the numbers of those that it has failed to close.
  bool is_done = true;
  for (const abi::Id file : open_files(hdf5)) {
    unsigned long number = 0;
    if (hdf5.number(file, &number) >= 0 && number == file_number) {
      is_done = hdf5.flush(file, of_this_file) >= 0 && is_done;
    }
  }
  return is_done;
}

}  // namespace sluice::plugin
