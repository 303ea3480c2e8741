#include "storage/foreign_file.hpp"

#include <cerrno>
#include <fcntl.h>

#include "storage/calls.hpp"
#include "storage/posix_file.hpp"

namespace sluice::storage {

namespace {

/// Locks of the open file description, which are not lost when the process closes another one.
int lock_descriptor(int fd, short type, const ByteRange& range) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(range.offset);
  lock.l_len = static_cast<off_t>(range.length);
  int result = -1;
  do {  // as often as signals come: who waits for a lock makes no progress until it is free
    result = ::fcntl(fd, F_OFD_SETLKW, &lock);
  } while (result != 0 && errno == EINTR);
  return result;
}

class PosixRangeLock final : public RangeLock {
 public:
  PosixRangeLock(int fd, const ByteRange& range) : fd_(fd), range_(range) {}
  PosixRangeLock(const PosixRangeLock&) = delete;
  PosixRangeLock& operator=(const PosixRangeLock&) = delete;
  ~PosixRangeLock() override { lock_descriptor(fd_, F_UNLCK, range_); }

 private:
  const int fd_;
  const ByteRange range_;
};

}  // namespace

std::unique_ptr<RangeLock> lock_range(File& file, const ByteRange& range, bool is_exclusive) {
  if (range.length == 0) return nullptr;  // 0 means "to the end" to the kernel
  auto* const posix = dynamic_cast<PosixFile*>(&file);
  if (posix == nullptr) {
    throw Error(Code::unsupported, file.path() + ": its storage has no range locks");
  }
  const int fd = posix->descriptor();
  if (lock_descriptor(fd, is_exclusive ? F_WRLCK : F_RDLCK, range) != 0) {
    throw system_error(file.path(), "locking a range", errno);
  }
  return std::make_unique<PosixRangeLock>(fd, range);
}

std::unique_ptr<File> open_to_write(const std::string& path) {
  const SystemCalls& calls = real_system_calls();
  const int fd = open_descriptor(calls, Place(AT_FDCWD, path), O_WRONLY | O_NOFOLLOW);
  if (fd < 0) throw system_error(path, describe(Call::open), errno);
  return std::make_unique<PosixFile>(calls, path, fd);
}

}  // namespace sluice::storage
