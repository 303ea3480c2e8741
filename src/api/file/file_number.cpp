#include "api/file/file_number.hpp"

#include <map>
#include <mutex>

namespace sluice::detail {

namespace {

struct OpenFiles {
  std::mutex mutex;
  std::map<std::uint32_t, std::string> paths;
  std::uint32_t last = 0;
};

OpenFiles& open_files() {
  static auto* const files = new OpenFiles;  // a file may be destroyed after everything static
  return *files;
}

std::uint32_t add_file(const std::string& path) {
  OpenFiles& files = open_files();
  const std::lock_guard lock(files.mutex);
  do {
    ++files.last;
  } while (files.last == 0 || files.paths.contains(files.last));
  files.paths.emplace(files.last, path);
  return files.last;
}

}  // namespace

FileNumber::FileNumber(const std::string& path) : value_(add_file(path)) {}

FileNumber::~FileNumber() {
  OpenFiles& files = open_files();
  const std::lock_guard lock(files.mutex);
  files.paths.erase(value_);
}

std::string path_of_file(std::uint32_t number) {
  OpenFiles& files = open_files();
  const std::lock_guard lock(files.mutex);
  const auto found = files.paths.find(number);
  return found == files.paths.end() ? std::string() : found->second;
}

}  // namespace sluice::detail
