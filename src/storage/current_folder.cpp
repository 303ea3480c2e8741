#include "storage/current_folder.hpp"

#include <filesystem>
#include <string_view>

#include "storage/calls.hpp"

namespace sluice::storage {

bool depends_on_current_folder(const std::string& path) {
  return !path.empty() && !path.starts_with('/') && !is_object_path(path);
}

std::string current_folder(Storage& storage) {
  const std::string here = storage.real_path(".");
  return here == "." ? "" : folder_of(here);
}

std::string path_below(const std::string& folder, const std::string& path) {
  if (folder.empty() || !depends_on_current_folder(path)) {
    return path;
  }
  std::string_view below = path;
  while (below.starts_with("./")) {
    below.remove_prefix(2);
  }
  return (std::filesystem::path(folder) / below).string();
}

}  // namespace sluice::storage
