#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "storage/calls.hpp"
#include "storage/lease.hpp"
#include "storage/permissions.hpp"
#include "storage/posix_file.hpp"
#include "storage/size_limit.hpp"

namespace sluice::storage {

namespace {

static_assert(sizeof(off_t) == 8, "files above 2 GiB need 64-bit offsets");

constexpr std::int64_t ns_per_s = 1'000'000'000;

/// Repeats an interrupted call, at most max_idle_calls times. Returns -1 and errno on failure.
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
      return O_RDWR | O_NOFOLLOW;
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
      [](int folder, const char* path, int flags, mode_t mode) {
        return ::openat(folder, path, flags, mode);
      },
      ::close,
      ::pread,
      ::pwrite,
      ::fallocate,
      ::fdatasync,
      ::fsync,
      ::ftruncate,
      ::futimens,
      ::renameat,
      ::renameat2,
      ::unlinkat,
      [](int fd, short type) {
        struct flock lock = {};
        lock.l_type = type;
        lock.l_whence = SEEK_SET;
        return ::fcntl(fd, F_OFD_SETLK, &lock);
      },
      [](int fd, off_t offset, off_t bytes) {
        return ::sync_file_range(fd, offset, bytes, SYNC_FILE_RANGE_WRITE);
      },
  };
  return calls;
}

int open_descriptor(const SystemCalls& calls, const Place& place, int flags, mode_t mode) {
  flags |= place.is_confined() ? O_NOFOLLOW : 0;
  const auto open = [&](int more) {
    return uninterrupted(
        [&] { return calls.openat(place.folder(), place.name(), flags | O_CLOEXEC | more, mode); });
  };
  // Opening a pipe without a writer would block for ever. EAGAIN: a lease of the file, which its
  // holder has to give back first.
  int fd = open(O_NONBLOCK);
  struct stat status = {};
  if (fd < 0 && errno == EAGAIN &&
      ::fstatat(place.folder(), place.name(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(status.st_mode)) {
    fd = open(0);
  }
  // O_NONBLOCK was for the open only: some file systems recall a file from tape only if a read may
  // wait.
  if (fd >= 0) ::fcntl(fd, F_SETFL, flags & O_DIRECT);
  // The errno of the kernel for a link that was to be opened as a folder.
  if (fd < 0 && errno == ENOTDIR)
    errno = (flags & O_NOFOLLOW) != 0 && place.is_link() ? ELOOP : ENOTDIR;
  return fd;
}

namespace {

constexpr const char* special_text =
    "is neither a file nor a folder (a pipe, a socket or a device): check the path";

}  // namespace

PosixFile::PosixFile(const SystemCalls& calls, const Place& place, std::string path, Access access)
    : calls_(calls), path_(std::move(path)) {
  const Call call = access == Access::create ? Call::create : Call::open;
  fd_ = open_descriptor(calls_, place, flags_of(access));
  if (fd_ < 0) throw system_error(path_, describe(call), errno);
  // A folder can be opened for reading; a device or a pipe has no offsets.
  struct stat status = {};
  const int problem = ::fstat(fd_, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  const bool is_file = problem == 0 && S_ISREG(status.st_mode);
  if (!is_file) {
    calls_.close(fd_);
    throw problem != 0
        ? system_error(path_, describe(call), problem)
        : Error(Code::io, path_ + ": " + describe(call) + " failed: " + special_text);
  }
}

PosixFile::PosixFile(const SystemCalls& calls, std::string path, int descriptor)
    : calls_(calls), path_(std::move(path)), fd_(descriptor) {}

// Here errors of close() about unsynced bytes do not matter: nothing was promised; sync() reports
// them.
PosixFile::~PosixFile() {
  unlock();
  if (fd_ >= 0) calls_.close(fd_);
}

// Not tried again, whatever the error is: the descriptor is gone, and may be another file's.
void PosixFile::close() {
  unlock();
  const int fd = std::exchange(fd_, -1);
  if (fd >= 0 && calls_.close(fd) != 0) throw system_error(path_, "close", errno);
}

/// Keeps SIGXFSZ away from a write that ends at `end`, where it may be sent. The limit is asked for
/// again at every MiB that the file grows: for each small write it would cost as much as the write.
class PosixFile::WithinLimit {
 public:
  WithinLimit(PosixFile& file, std::uint64_t end) : file_(file), end_(end) {
    if (end > file.allowed_end_.load(std::memory_order_relaxed)) no_signal_.emplace();
  }
  /// The call succeeded.
  void allowed() {
    if (!no_signal_) return;
    const std::uint64_t end = std::max(end_, std::min(no_signal_->bytes(), end_ + asked_every));
    std::uint64_t before = file_.allowed_end_.load(std::memory_order_relaxed);
    while (before < end &&
           !file_.allowed_end_.compare_exchange_weak(before, end, std::memory_order_relaxed)) {
    }
  }

 private:
  static constexpr std::uint64_t asked_every = 1 << 20;

  PosixFile& file_;
  const std::uint64_t end_;
  std::optional<SizeLimit> no_signal_;
};

void PosixFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  check_range(path_, Call::write, bytes.size(), offset);
  WithinLimit limit(*this, offset + bytes.size());
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
  limit.allowed();
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
  const SizeLimit no_signal;
  // On tmpfs, older kernels undo all of it at any signal: with a timer's it would never end.
  const SignalsBlocked signals;
  const int result = uninterrupted([&] {
    return calls_.fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(length));
  });
  // Never emulated by writing zeros: that would race with writes of other ranks.
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
  const SizeLimit no_signal;
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

FileIdentity PosixFile::identity() {
  const struct stat status = status_of(fd_, path_, Call::size);
  return {status.st_dev, status.st_ino};
}

bool PosixFile::is_removed() { return status_of(fd_, path_, Call::size).st_nlink == 0; }

bool PosixFile::share_lock() {
  if (uninterrupted([&] { return ::flock(fd_, LOCK_SH | LOCK_NB); }) != 0) {
    return errno != EWOULDBLOCK;
  }
  locked_by_.emplace();
  return true;
}

/// A close would leave the lock to the children that were forked meanwhile.
void PosixFile::unlock() noexcept {
  if (locked_by_ && locked_by_->is_here() && fd_ >= 0) {
    ::flock(fd_, LOCK_UN);
  }
  locked_by_.reset();
}

void PosixFile::drop_cache() {
  sync();  // dirty pages are not dropped
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
}

std::unique_ptr<File> PosixStorage::open(const std::string& path, Access access) {
  return std::make_unique<PosixFile>(calls_, place_of(path), path, access);
}

// Created for the owner only; access is opened up when it has its permissions.
std::unique_ptr<File> PosixStorage::create_like(const std::string& path, const std::string& model) {
  const std::optional<Permissions> permissions = permissions_of(place_of(model), model);
  if (!permissions) return open(path, Access::create);
  {
    const Place place = place_of(path);
    const int fd = open_descriptor(calls_, place, flags_of(Access::create), S_IRUSR | S_IWUSR);
    if (fd < 0) throw system_error(path, describe(Call::create), errno);
    give_permissions(fd, *permissions);
    calls_.close(fd);
  }
  try {
    return open(path, Access::read_write);
  } catch (...) {  // like a model that may only be read: the other ranks could not open it either
    const Place place = place_of(path);
    calls_.unlinkat(place.folder(), place.name(), 0);
    throw;
  }
}

bool PosixStorage::exists(const std::string& path) {
  struct stat status = {};
  return is_there(path, status);
}

bool PosixStorage::may_have_names(const std::string& path) {
  struct stat status = {};
  return is_there(path, status) && !S_ISREG(status.st_mode);
}

bool PosixStorage::is_there(const std::string& path, struct stat& status) const {
  int problem = 0;
  try {
    const Place place = place_of(path);
    const int result = ::fstatat(place.folder(), place.name(), &status, AT_SYMLINK_NOFOLLOW);
    problem = result == 0 ? 0 : errno;
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
    problem = ENOENT;  // nor are the folders above it
  }
  if (problem == 0 || problem == ENOENT || problem == ENOTDIR) return problem == 0;
  throw system_error(path, describe(Call::exists), problem);
}

std::string PosixStorage::real_path(const std::string& path) { return follow_links(path); }

void PosixStorage::rename(const std::string& from, const std::string& to) {
  const Place old_place = place_of(from);
  const Place new_place = place_of(to);
  // root can replace a device, such as /dev/null, by a file.
  struct stat status = {};
  const bool is_there =
      ::fstatat(new_place.folder(), new_place.name(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) &&
      !S_ISLNK(status.st_mode)) {
    throw Error(Code::io, to + ": " + special_text);
  }
  const int result = uninterrupted([&] {
    return calls_.renameat(old_place.folder(), old_place.name(), new_place.folder(),
                           new_place.name());
  });
  if (result != 0) throw system_error(from, "rename to " + to, errno);
}

void PosixStorage::rename_new(const std::string& from, const std::string& to) {
  const Place old_place = place_of(from);
  const Place new_place = place_of(to);
  const int result = uninterrupted([&] {
    return calls_.renameat2(old_place.folder(), old_place.name(), new_place.folder(),
                            new_place.name(), RENAME_NOREPLACE);
  });
  if (result == 0) return;
  if (errno != EINVAL && errno != ENOSYS) throw system_error(from, "rename to " + to, errno);
  // The file system does not know how, such as NFS. A link is never put in the place of a file.
  if (::linkat(old_place.folder(), old_place.name(), new_place.folder(), new_place.name(), 0) !=
      0) {
    if (errno == EEXIST) throw system_error(from, "rename to " + to, errno);
    Storage::rename_new(from, to);  // a folder, or a file system without links
    return;
  }
  if (calls_.unlinkat(old_place.folder(), old_place.name(), 0) != 0) {
    const int problem = errno;
    ::unlinkat(new_place.folder(), new_place.name(), 0);
    throw system_error(from, "rename to " + to, problem);
  }
}

void PosixStorage::remove(const std::string& path) {
  const Place place = place_of(path);
  const int result =
      uninterrupted([&] { return calls_.unlinkat(place.folder(), place.name(), 0); });
  if (result != 0) throw system_error(path, describe(Call::remove), errno);
}

bool PosixStorage::is_link(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) == 0) return S_ISLNK(status.st_mode);
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw system_error(path, describe(Call::exists), errno);
}

// Through a descriptor of the folder, so that neither it nor the file can be replaced by a link
// between the check and the removal.
bool PosixStorage::remove_if(const std::string& path,
                             const std::function<bool(std::unique_ptr<File>)>& is_meant) {
  const auto is_absent = [](int problem) {
    return problem == ENOENT || problem == ENOTDIR || problem == ELOOP;
  };
  const int folder = open_descriptor(calls_, Place(AT_FDCWD, folder_of(path)),
                                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (folder < 0) {
    if (is_absent(errno)) return false;
    throw system_error(path, describe(Call::remove), errno);
  }
  const auto closed = [this](const int* fd) { calls_.close(*fd); };
  const std::unique_ptr<const int, decltype(closed)> folder_closes(&folder, closed);
  const std::string name = std::filesystem::path(path).filename().string();
  // Opening a pipe would block.
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int fd = uninterrupted([&] { return ::openat(folder, name.c_str(), flags); });
  if (fd < 0) {
    if (is_absent(errno)) return false;
    throw system_error(path, describe(Call::open), errno);
  }
  auto file = std::make_unique<PosixFile>(calls_, path, fd);
  const struct stat opened = status_of(fd, path, Call::open);
  if (!S_ISREG(opened.st_mode) || !is_meant(std::move(file))) return false;
  struct stat named = {};
  if (::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      named.st_dev != opened.st_dev || named.st_ino != opened.st_ino) {
    return false;
  }
  if (::unlinkat(folder, name.c_str(), 0) == 0) return true;
  throw system_error(path, describe(Call::remove), errno);
}

std::unique_ptr<Lease> PosixStorage::lease(const std::string& path) {
  return take_lease(calls_, path);
}

FileSystemFacts PosixStorage::file_system(const std::string& path) {
  return file_system_facts(path);
}

std::shared_ptr<Storage> make_posix(const SystemCalls& calls) {
  return std::make_shared<PosixStorage>(calls);
}

std::shared_ptr<Storage> make_posix() { return make_posix(real_system_calls()); }

}  // namespace sluice::storage
