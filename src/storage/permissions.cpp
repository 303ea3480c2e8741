#include "storage/permissions.hpp"

#include <cerrno>
#include <fcntl.h>
#include <span>
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
  return (made.st_mode & S_ISGID) | (model.mode & S_ISVTX) | (has_group ? model.mode & S_ISGID : 0);
}

/// -1 and errno where it has none, or it cannot be read.
ssize_t read_acl(const Place& place, bool may_open, std::span<std::byte> acl) {
  const int fd = ::openat(place.folder(), place.name(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  // Through /proc: a file without read permission has a list too.
  const std::string opened = "/proc/self/fd/" + std::to_string(fd);
  ssize_t got = ::getxattr(opened.c_str(), acl_name, acl.data(), acl.size());
  int problem = errno;
  ::close(fd);
  if (got < 0 && problem == ENOENT && may_open) {  // there is no /proc
    constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const int readable = ::openat(place.folder(), place.name(), flags);
    if (readable < 0) return -1;
    got = ::fgetxattr(readable, acl_name, acl.data(), acl.size());
    problem = errno;
    ::close(readable);
  }
  errno = problem;
  return got;
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
  permissions.acl.resize(most_acl_bytes);
  const ssize_t got = read_acl(place, S_ISREG(status.st_mode) || S_ISDIR(status.st_mode),
                               {permissions.acl.data(), permissions.acl.size()});
  // Where it may have a list, the group bits may be the mask of that, not what the group may do.
  if (got < 0 && errno != ENODATA && errno != EOPNOTSUPP && errno != ENOSYS) {
    permissions.mode &= ~all_bits | S_IRWXU;
  }
  permissions.acl.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
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
