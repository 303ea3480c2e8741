#include "storage/permissions.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "storage/calls.hpp"

namespace sluice::storage {

namespace {

constexpr const char* acl_name = "system.posix_acl_access";
constexpr std::size_t most_acl_bytes = 64 << 10;  // the kernel's own limit for an attribute
constexpr mode_t all_bits = S_IRWXU | S_IRWXG | S_IRWXO;
/// Of folders: what is made in it gets its group; only owners remove what is in it.
constexpr mode_t folder_bits = S_ISGID | S_ISVTX;

/// What a new folder has beside the bits of rwx. The group of the folder around it, which the
/// kernel hands on, holds whatever the model was.
mode_t folder_bits_of(const struct stat& made, const Permissions& model, bool has_group) {
  if (!S_ISDIR(made.st_mode)) return 0;
  return (made.st_mode & S_ISGID) | (model.mode & S_ISVTX) |
         (has_group ? model.mode & S_ISGID : 0);
}

}  // namespace

std::optional<Permissions> permissions_of(const Place& place, const std::string& path) {
  struct stat status = {};
  if (::fstatat(place.folder(), place.name(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw system_error(path, describe(Call::exists), errno);
  }
  if (S_ISLNK(status.st_mode)) return std::nullopt;
  const mode_t bits = S_ISDIR(status.st_mode) ? all_bits | folder_bits : all_bits;
  Permissions permissions{status.st_uid, status.st_gid, status.st_mode & bits, {}};
  if (const int fd = ::openat(place.folder(), place.name(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
      fd >= 0) {
    // Through /proc: a file without read permission has a list too.
    const std::string opened = "/proc/self/fd/" + std::to_string(fd);
    permissions.acl.resize(most_acl_bytes);
    const ssize_t got =
        ::getxattr(opened.c_str(), acl_name, permissions.acl.data(), permissions.acl.size());
    permissions.acl.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    ::close(fd);
  }
  return permissions;
}

void give_permissions(int fd, const Permissions& permissions) noexcept {
  mode_t mode = permissions.mode & all_bits;
  struct stat status = {};
  const bool is_known = ::fstat(fd, &status) == 0;
  const bool has_group = ::fchown(fd, permissions.owner, permissions.group) == 0 ||
                         (is_known && status.st_gid == permissions.group) ||
                         ::fchown(fd, static_cast<uid_t>(-1), permissions.group) == 0;
  if (!has_group) {
    const mode_t others_as_group = (mode & S_IRWXO) << 3;
    mode &= S_IRWXU | S_IRWXO | others_as_group;
  }
  if (permissions.acl.empty()) {
    ::fremovexattr(fd, acl_name);  // the default list of the folder
  } else {
    // The group bits hold the mask of the list: without the list they would apply to the group.
    const bool has_acl = has_group && ::fsetxattr(fd, acl_name, permissions.acl.data(),
                                                  permissions.acl.size(), 0) == 0;
    mode = has_acl ? mode : mode & S_IRWXU;
  }
  mode |= folder_bits_of(status, permissions, has_group);
  ::fchmod(fd, mode);  // the file belongs to this process: it fails only on file systems without
                       // modes
}

}  // namespace sluice::storage
