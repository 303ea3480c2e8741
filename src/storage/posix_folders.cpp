// Folders of the operating system: what is in them, making, removing and syncing them.
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/calls.hpp"
#include "storage/permissions.hpp"
#include "storage/posix_file.hpp"

namespace sluice::storage {

namespace {

/// A folder that may be written, but not read, cannot be opened for a sync: the whole file system
/// is synced, by a nameless file in the folder or, where there are none, by that at `place`.
void sync_around_unreadable(const SystemCalls& calls, const Place& folder, const Place& place,
                            const std::string& path) {
  int fd = open_descriptor(calls, folder, O_TMPFILE | O_RDWR, S_IRUSR | S_IWUSR);
  if (fd < 0) fd = open_descriptor(calls, place, O_RDONLY | O_NOFOLLOW);
  if (fd < 0) throw system_error(path, describe(Call::sync_directory), EACCES);
  const int problem = ::syncfs(fd) == 0 ? 0 : errno;
  calls.close(fd);
  if (problem != 0) throw system_error(path, describe(Call::sync_directory), problem);
}

}  // namespace

std::vector<std::string> PosixStorage::list(const std::string& path) {
  std::error_code problem;
  std::vector<std::string> names;
  std::filesystem::directory_iterator next(path, problem);
  for (; !problem && next != std::filesystem::directory_iterator(); next.increment(problem)) {
    names.push_back(next->path().filename().string());
  }
  if (problem) throw system_error(path, describe(Call::list), problem.value());
  return names;
}

void PosixStorage::remove_folder(const std::string& path) {
  const Place place = place_of(path);
  std::error_code problem;
  std::string in_folder = path;
  if (place.folder() != AT_FDCWD) {
    // Relative to an open folder, through its descriptor. No link in it is followed.
    const std::string opened = "/proc/self/fd/" + std::to_string(place.folder());
    struct stat status = {};
    if (::stat(opened.c_str(), &status) != 0) {  // a missing path would count as removed
      throw Error(Code::io, path + ": " + describe(Call::remove_folder) + " failed: " + opened +
                                " is not there: mount /proc");
    }
    in_folder = opened + "/" + place.name();
  }
  std::filesystem::remove_all(in_folder, problem);
  if (problem) throw system_error(path, describe(Call::remove_folder), problem.value());
}

void PosixStorage::make_folder(const std::string& path) {
  if (confined_.make_folders(path)) return;
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (problem) throw system_error(path, describe(Call::make_folder), problem.value());
}

void PosixStorage::make_folder_like(const std::string& path, const std::string& model) {
  const std::optional<Permissions> permissions = permissions_of(place_of(model), model);
  make_folder(folder_of(path));
  const Place place = place_of(path);
  if (::mkdirat(place.folder(), place.name(), permissions ? S_IRWXU : 0777) != 0) {
    throw system_error(path, describe(Call::make_folder), errno);
  }
  if (!permissions) return;
  const int fd = open_descriptor(calls_, place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0) throw system_error(path, describe(Call::make_folder), errno);
  give_permissions(fd, *permissions);
  calls_.close(fd);
}

void PosixStorage::sync_directory(const std::string& path) {
  const Place folder = place_of(folder_of(path));
  const int fd = open_descriptor(calls_, folder, O_RDONLY | O_DIRECTORY);
  if (fd < 0 && errno == EACCES) {
    sync_around_unreadable(calls_, folder, place_of(path), path);
    return;
  }
  if (fd < 0) throw system_error(path, describe(Call::sync_directory), errno);
  const int problem = calls_.fsync(fd) == 0 ? 0 : errno;
  calls_.close(fd);
  // EINVAL: a file system without this sync (its server keeps directories durable by itself).
  if (problem != 0 && problem != EINVAL) {
    throw system_error(path, describe(Call::sync_directory), problem);
  }
}

}  // namespace sluice::storage
