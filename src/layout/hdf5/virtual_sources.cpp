#include "layout/hdf5/virtual_sources.hpp"

#include <filesystem>
#include <set>

namespace sluice::layout::hdf5 {

namespace {

namespace fs = std::filesystem;

/// The number of a block in a name that stands for many.
constexpr const char* block_number = "%b";

template <class Call>
std::string name_by(Call&& call, hid_t list, std::size_t number) {
  const ssize_t length = call(list, number, nullptr, 0);
  checked(static_cast<hid_t>(length), "source of a virtual dataset");
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  call(list, number, name.data(), name.size());
  name.pop_back();
  return name;
}

/// Where libhdf5 looks: as it is named, from the folder of the file, or from the present one.
std::string place_of(const std::string& name, const std::string& path) {
  std::error_code failed;
  const fs::path beside = fs::path(path).parent_path() / name;  // `name` where that is absolute
  for (const fs::path& candidate : {beside, fs::path(name)}) {
    if (fs::is_regular_file(candidate, failed)) {
      return candidate.string();
    }
  }
  return "";
}

bool has_dataset(const std::string& file, const std::string& dataset) {
  const Handle opened(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  const std::string name = dataset.substr(dataset.rfind('/', 0) == 0 ? 1 : 0);
  return opened && (name.empty() || has_link(opened.get(), name));
}

}  // namespace

std::string missing_source(hid_t list, const std::string& path) {
  const QuietErrors quiet;
  std::size_t count = 0;
  check(H5Pget_virtual_count(list, &count), "sources of a virtual dataset");
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string file = name_by(H5Pget_virtual_filename, list, i);
    const std::string dataset = name_by(H5Pget_virtual_dsetname, list, i);
    if (!seen.emplace(file, dataset).second) {
      continue;
    }
    const std::size_t at = file.find(block_number);
    if (at != std::string::npos) {
      // As many as there are, from 0 on; that there are none is no error.
      for (std::size_t block = 0;; ++block) {
        std::string one = file;
        one.replace(at, 2, std::to_string(block));
        const fs::path beside = fs::path(path).parent_path() / one;
        std::error_code failed;
        if (!fs::exists(beside, failed)) {
          break;
        }
        if (place_of(one, path).empty()) {
          return one + " is no file";
        }
      }
      continue;
    }
    const std::string place = file == "." ? path : place_of(file, path);
    if (place.empty()) {
      return file + " is not there";
    }
    if (dataset.find(block_number) == std::string::npos && !has_dataset(place, dataset)) {
      return file + " has no dataset " + dataset;
    }
  }
  return "";
}

}  // namespace sluice::layout::hdf5
