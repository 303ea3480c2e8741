#include "storage/named_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "storage/calls.hpp"

namespace sluice::storage {

namespace {

struct Named {
  FileIdentity identity;
  std::optional<std::uint64_t> bytes;  ///< empty: the file system has not said
};

/// `flags` and `mask`: of statx.
std::optional<Named> named_at(const std::string& path, int flags, unsigned mask) {
  const auto is_absent = [] { return errno == ENOENT || errno == ENOTDIR; };
#ifdef STATX_INO
  struct statx few = {};
  const int result =
      ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | flags, mask | STATX_INO, &few);
  if (result == 0 && (few.stx_mask & STATX_INO) != 0) {
    Named named{{makedev(few.stx_dev_major, few.stx_dev_minor), few.stx_ino}, std::nullopt};
    if ((few.stx_mask & STATX_SIZE) != 0) {
      named.bytes = few.stx_size;
    }
    return named;
  }
  if (result != 0 && is_absent()) {
    return std::nullopt;
  }
  // An old kernel, or a container that forbids calls which it does not know.
#endif
  struct stat status = {};
  if (::lstat(path.c_str(), &status) == 0) {
    return Named{{status.st_dev, status.st_ino}, static_cast<std::uint64_t>(status.st_size)};
  }
  if (is_absent()) {
    return std::nullopt;
  }
  throw system_error(path, describe(Call::exists), errno);
}

#ifdef STATX_INO
constexpr int as_stat = AT_STATX_SYNC_AS_STAT;
constexpr int from_server = AT_STATX_FORCE_SYNC;
constexpr unsigned with_size = STATX_SIZE;
#else
constexpr int as_stat = 0;
constexpr int from_server = 0;
constexpr unsigned with_size = 0;
#endif

}  // namespace

std::optional<FileIdentity> identity_at(const std::string& path) {
  const auto named = named_at(path, as_stat, 0);
  return named ? std::optional(named->identity) : std::nullopt;
}

bool is_at(Storage& storage, const std::string& path, const FileIdentity& identity) {
  if (identity == FileIdentity{}) {
    return storage.exists(path);
  }
  // Only files of the operating system have an identity.
  return identity_at(path) == identity;
}

Standing standing_at(Storage& storage, const std::string& path, const FileIdentity& identity,
                     std::uint64_t bytes) {
  if (identity == FileIdentity{}) {
    return storage.exists(path) ? Standing::whole : Standing::gone;
  }
  const auto judge = [&](const std::optional<Named>& named) {
    if (!named || named->identity != identity) {
      return Standing::gone;
    }
    return named->bytes.value_or(bytes) < bytes ? Standing::shorter : Standing::whole;
  };
  const Standing first = judge(named_at(path, as_stat, 0));
  // What a client remembers may be older than what other nodes have written.
  return first == Standing::shorter ? judge(named_at(path, from_server, with_size)) : first;
}

Error cut_error(const std::string& path, std::uint64_t bytes) {
  return {Code::changed_outside,
          path + ": another program has cut it below the " + std::to_string(bytes) +
              " bytes of its last commit while it was written (such as mode \"w\" of h5py, or "
              "truncate), or its file system has lost what was not synced: this commit is not in "
              "it, and steps before it are lost"};
}

Error moved_error(const std::string& path, const std::string& remedy) {
  return {Code::changed_outside,
          path +
              ": was moved or removed, or another file was put in its place, while it was "
              "written: this commit is not in it" +
              remedy};
}

}  // namespace sluice::storage
