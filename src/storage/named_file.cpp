#include "storage/named_file.hpp"

#include <cerrno>
#include <sys/stat.h>

#include "storage/calls.hpp"

namespace sluice::storage {

bool is_at(Storage& storage, const std::string& path, const FileIdentity& identity) {
  if (identity == FileIdentity{}) {
    return storage.exists(path);
  }
  // Only files of the operating system have an identity.
  struct stat named = {};
  if (::lstat(path.c_str(), &named) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return false;
    }
    throw system_error(path, describe(Call::exists), errno);
  }
  return identity == FileIdentity{named.st_dev, named.st_ino};
}

Error moved_error(const std::string& path, const std::string& remedy) {
  return {Code::changed_outside,
          path +
              ": was moved or removed, or another file was put in its place, while it was "
              "written: this commit is not in it" +
              remedy};
}

}  // namespace sluice::storage
