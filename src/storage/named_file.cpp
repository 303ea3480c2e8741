#include "storage/named_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "storage/calls.hpp"

namespace sluice::storage {

std::optional<FileIdentity> identity_at(const std::string& path) {
  const auto is_absent = [] { return errno == ENOENT || errno == ENOTDIR; };
#ifdef STATX_INO
  struct statx few = {};
  const int result =
      ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | AT_STATX_SYNC_AS_STAT, STATX_INO, &few);
  if (result == 0 && (few.stx_mask & STATX_INO) != 0) {
    return FileIdentity{makedev(few.stx_dev_major, few.stx_dev_minor), few.stx_ino};
  }
  if (result != 0 && is_absent()) {
    return std::nullopt;
  }
  // An old kernel, or a container that forbids calls which it does not know.
#endif
  struct stat status = {};
  if (::lstat(path.c_str(), &status) == 0) {
    return FileIdentity{status.st_dev, status.st_ino};
  }
  if (is_absent()) {
    return std::nullopt;
  }
  throw system_error(path, describe(Call::exists), errno);
}

bool is_at(Storage& storage, const std::string& path, const FileIdentity& identity) {
  if (identity == FileIdentity{}) {
    return storage.exists(path);
  }
  // Only files of the operating system have an identity.
  return identity_at(path) == identity;
}

Error moved_error(const std::string& path, const std::string& remedy) {
  return {Code::changed_outside,
          path +
              ": was moved or removed, or another file was put in its place, while it was "
              "written: this commit is not in it" +
              remedy};
}

}  // namespace sluice::storage
