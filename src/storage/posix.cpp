#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "storage/calls.hpp"
#include "storage/posix_file.hpp"

namespace sluice::storage {

namespace {

static_assert(sizeof(off_t) == 8, "files above 2 GiB need 64-bit offsets");

constexpr std::int64_t ns_per_s = 1'000'000'000;

/// Calls again while interrupted, at most max_idle_calls times. Returns -1 and errno on failure.
template <typename SystemCall>
int uninterrupted(SystemCall call) {
  int result = -1;
  for (int tries = 0; tries < max_idle_calls; ++tries) {
    result = call();
    if (result >= 0 || errno != EINTR) break;
  }
  return result;
}

int flags_of(Access access) {
  switch (access) {
    case Access::read:
      return O_RDONLY;
    case Access::read_write:
      return O_RDWR;
    case Access::create:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

struct stat status_of(int fd, const std::string& path, Call call) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) throw system_error(path, describe(call), errno);
  return status;
}

}  // namespace

const SystemCalls& real_system_calls() {
  static const SystemCalls calls = {
      [](const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); },
      ::close,
      ::pread,
      ::pwrite,
      ::fallocate,
      ::fdatasync,
      ::fsync,
      ::ftruncate,
      ::futimens,
      ::rename,
      ::unlink,
  };
  return calls;
}

int open_descriptor(const SystemCalls& calls, const std::string& path, int flags) {
  return uninterrupted([&] { return calls.open(path.c_str(), flags | O_CLOEXEC, 0666); });
}

PosixFile::PosixFile(const SystemCalls& calls, std::string path, Access access)
    : calls_(calls), path_(std::move(path)) {
  const Call call = access == Access::create ? Call::create : Call::open;
  fd_ = open_descriptor(calls_, path_, flags_of(access));
  if (fd_ < 0) throw system_error(path_, describe(call), errno);
  // A folder opens for reading without complaint; a device or a pipe has no offsets.
  struct stat status = {};
  const int problem = ::fstat(fd_, &status) != 0 ? errno
                      : S_ISDIR(status.st_mode)  ? EISDIR
                      : S_ISREG(status.st_mode)  ? 0
                                                 : ESPIPE;
  if (problem != 0) {
    calls_.close(fd_);
    throw system_error(path_, describe(call), problem);
  }
}

// What close() could report about unsynced bytes was never promised; sync() asks for it.
PosixFile::~PosixFile() { calls_.close(fd_); }

void PosixFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  check_range(path_, Call::write, bytes.size(), offset);
  std::size_t done = 0;
  int idle = 0;
  while (done < bytes.size()) {
    const std::size_t piece = std::min(bytes.size() - done, max_call_bytes);
    const ssize_t count =
        calls_.pwrite(fd_, bytes.data() + done, piece, static_cast<off_t>(offset + done));
    if (count > 0) {
      done += static_cast<std::size_t>(count);
      idle = 0;
      continue;
    }
    const int problem = count == 0 ? EIO : errno;
    const bool again = count == 0 || problem == EINTR;
    if (!again || ++idle >= max_idle_calls) {
      throw system_error(path_, describe(Call::write, bytes.size(), offset), problem);
    }
  }
}

std::size_t PosixFile::read(std::uint64_t offset, std::span<std::byte> bytes) {
  check_range(path_, Call::read, bytes.size(), offset);
  std::size_t done = 0;
  int idle = 0;
  while (done < bytes.size()) {
    const std::size_t piece = std::min(bytes.size() - done, max_call_bytes);
    const ssize_t count =
        calls_.pread(fd_, bytes.data() + done, piece, static_cast<off_t>(offset + done));
    if (count == 0) break;  // the end of the file
    if (count > 0) {
      done += static_cast<std::size_t>(count);
      idle = 0;
      continue;
    }
    if (errno != EINTR || ++idle >= max_idle_calls) {
      throw system_error(path_, describe(Call::read, bytes.size(), offset), errno);
    }
  }
  return done;
}

void PosixFile::preallocate(std::uint64_t offset, std::uint64_t length) {
  check_range(path_, Call::preallocate, length, offset);
  if (length == 0) return;
  const int result = uninterrupted([&] {
    return calls_.fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(length));
  });
  // Never emulated by writing zeros: they would race with the bytes of other ranks.
  if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return;
  throw system_error(path_, describe(Call::preallocate, length, offset), errno);
}

void PosixFile::sync() {
  if (sync_errno_ == 0 && calls_.fdatasync(fd_) != 0) sync_errno_ = errno;
  if (sync_errno_ != 0) throw system_error(path_, describe(Call::sync), sync_errno_);
}

std::uint64_t PosixFile::size() {
  return static_cast<std::uint64_t>(status_of(fd_, path_, Call::size).st_size);
}

void PosixFile::resize(std::uint64_t bytes) {
  check_range(path_, Call::resize, bytes, 0);
  const int result =
      uninterrupted([&] { return calls_.ftruncate(fd_, static_cast<off_t>(bytes)); });
  if (result != 0) throw system_error(path_, describe(Call::resize, bytes), errno);
}

void PosixFile::set_modified_ns(std::int64_t ns) {
  std::int64_t seconds = ns / ns_per_s;
  std::int64_t rest = ns % ns_per_s;
  if (rest < 0) {  // before 1970: the fraction counts forward
    rest += ns_per_s;
    --seconds;
  }
  const timespec times[2] = {{0, UTIME_OMIT}, {seconds, rest}};
  const int result = uninterrupted([&] { return calls_.futimens(fd_, times); });
  if (result != 0) throw system_error(path_, describe(Call::set_modified), errno);
}

std::int64_t PosixFile::modified_ns() {
  const struct stat status = status_of(fd_, path_, Call::modified);
  return std::int64_t{status.st_mtim.tv_sec} * ns_per_s + status.st_mtim.tv_nsec;
}

void PosixFile::drop_cache() {
  sync();  // dirty pages stay whatever is advised
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
}

std::unique_ptr<File> PosixStorage::open(const std::string& path, Access access) {
  return std::make_unique<PosixFile>(calls_, path, access);
}

bool PosixStorage::exists(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw system_error(path, describe(Call::exists), errno);
}

void PosixStorage::rename(const std::string& from, const std::string& to) {
  const int result = uninterrupted([&] { return calls_.rename(from.c_str(), to.c_str()); });
  if (result != 0) throw system_error(from, "rename to " + to, errno);
}

void PosixStorage::remove(const std::string& path) {
  const int result = uninterrupted([&] { return calls_.unlink(path.c_str()); });
  if (result != 0) throw system_error(path, describe(Call::remove), errno);
}

void PosixStorage::remove_folder(const std::string& path) {
  std::error_code problem;
  std::filesystem::remove_all(path, problem);
  if (problem) throw system_error(path, describe(Call::remove_folder), problem.value());
}

void PosixStorage::make_folder(const std::string& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (problem) throw system_error(path, describe(Call::make_folder), problem.value());
}

void PosixStorage::sync_directory(const std::string& path) {
  const std::string folder = folder_of(path);
  const int fd = open_descriptor(calls_, folder, O_RDONLY | O_DIRECTORY);
  if (fd < 0) throw system_error(path, describe(Call::sync_directory), errno);
  const int problem = calls_.fsync(fd) == 0 ? 0 : errno;
  calls_.close(fd);
  // EINVAL: a file system without such a sync (its server keeps directories durable by itself).
  if (problem != 0 && problem != EINVAL) {
    throw system_error(path, describe(Call::sync_directory), problem);
  }
}

FileSystemFacts PosixStorage::file_system(const std::string& path) {
  return file_system_facts(path);
}

std::shared_ptr<Storage> make_posix(const SystemCalls& calls) {
  return std::make_shared<PosixStorage>(calls);
}

std::shared_ptr<Storage> make_posix() { return make_posix(real_system_calls()); }

}  // namespace sluice::storage
