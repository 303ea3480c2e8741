#include "plugin/hdf5_caches.hpp"

#include <array>
#include <cstring>
#include <sys/types.h>
#include <vector>

#include "plugin/hdf5_abi.hpp"
#include "plugin/hdf5_library.hpp"

namespace sluice::plugin {

namespace {

// H5F_OBJ_*
constexpr unsigned datasets = 0x02;
constexpr unsigned all_but_attributes = 0x0f;
constexpr abi::Id of_all_files = 0x1f;

constexpr unsigned basic_info = 0x01;  // H5O_INFO_BASIC
constexpr int of_this_file = 0;        // H5F_SCOPE_LOCAL

struct Functions {
  explicit Functions(const Hdf5Library& library)
      : count(reinterpret_cast<decltype(count)>(library.find("H5Fget_obj_count"))),
        list(reinterpret_cast<decltype(list)>(library.find("H5Fget_obj_ids"))),
        info(reinterpret_cast<decltype(info)>(library.find("H5Oget_info3"))),
        flush_dataset(reinterpret_cast<decltype(flush_dataset)>(library.find("H5Dflush"))),
        flush_file(reinterpret_cast<decltype(flush_file)>(library.find("H5Fflush"))) {}
  bool are_there() const {
    return count != nullptr && list != nullptr && info != nullptr && flush_dataset != nullptr &&
           flush_file != nullptr;
  }

  ssize_t (*count)(abi::Id file, unsigned types);
  ssize_t (*list)(abi::Id file, unsigned types, std::size_t most, abi::Id* ids);
  abi::Status (*info)(abi::Id object, void* info, unsigned fields);
  abi::Status (*flush_dataset)(abi::Id dataset);
  abi::Status (*flush_file)(abi::Id object, int scope);
};

/// The open objects of these types in the file of that number.
std::vector<abi::Id> open_in(const Functions& hdf5, unsigned types, unsigned long file_number) {
  std::vector<abi::Id> found;
  const ssize_t count = hdf5.count(of_all_files, types);
  if (count <= 0) {
    return found;
  }
  std::vector<abi::Id> all(static_cast<std::size_t>(count));
  const ssize_t listed = hdf5.list(of_all_files, types, all.size(), all.data());
  all.resize(listed < 0 ? 0 : static_cast<std::size_t>(listed));
  for (const abi::Id id : all) {
    // H5O_info2_t, of which the number of the file is the first field.
    alignas(16) std::array<std::byte, 256> info{};
    unsigned long number = 0;
    if (hdf5.info(id, info.data(), basic_info) >= 0) {
      std::memcpy(&number, info.data(), sizeof number);
      if (number == file_number) {
        found.push_back(id);
      }
    }
  }
  return found;
}

}  // namespace

bool flush_caches(const void* caller, unsigned long file_number) {
  const Hdf5Library library(caller);
  const Functions hdf5(library);
  if (!hdf5.are_there()) {
    return true;
  }
  bool is_done = true;
  for (const abi::Id dataset : open_in(hdf5, datasets, file_number)) {
    is_done = hdf5.flush_dataset(dataset) >= 0 && is_done;
  }
  // The metadata, which is of no handle: any object leads to it.
  const std::vector<abi::Id> objects = open_in(hdf5, all_but_attributes, file_number);
  return (objects.empty() || hdf5.flush_file(objects.front(), of_this_file) >= 0) && is_done;
}

}  // namespace sluice::plugin
