// The writer lease on POSIX file systems: an open-file-description lock on a record beside the
// file.
//
// The lock belongs to the descriptor, so it goes with the process however that ends, and two Files
// of one process exclude each other as well.
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/calls.hpp"
#include "storage/posix_file.hpp"

namespace sluice::storage {

namespace {

std::string holder_text() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return std::string("host ") + host + ", process " + std::to_string(::getpid()) + "\n";
}

class PosixLease final : public Lease {
 public:
  PosixLease(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixLease() override {
    // Removed while still locked: whoever opened it meanwhile sees that the name is gone.
    ::unlink(path_.c_str());
    ::close(fd_);
  }

 private:
  int fd_;
  std::string path_;
};

/// Is the locked descriptor still what the name stands for?
bool is_current(int fd, const std::string& path) {
  struct stat held = {};
  struct stat named = {};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

std::string read_holder(int fd) {
  char text[300] = {};
  const ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  std::string holder(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!holder.empty() && holder.back() == '\n') {
    holder.pop_back();
  }
  return holder.empty() ? "another process" : holder;
}

}  // namespace

std::unique_ptr<Lease> PosixStorage::lease(const std::string& path) {
  constexpr int most_tries = 100;  // each lost to a holder that left in that moment
  const std::string name = path + ".sluice-lease";
  for (int tries = 0; tries < most_tries; ++tries) {
    const int fd = open_descriptor(calls(), name, O_RDWR | O_CREAT);
    if (fd < 0) {
      throw system_error(path, "taking the writer lease", errno);
    }
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(fd, F_OFD_SETLK, &lock) != 0) {
      const int problem = errno;
      if (problem == EAGAIN || problem == EACCES) {
        std::string why = path + ": is being written by ";
        why.append(read_holder(fd)).append(": wait for it, or end it");
        ::close(fd);
        throw Error(Code::locked, why);
      }
      ::close(fd);
      return nullptr;  // no such locks here
    }
    if (is_current(fd, name)) {
      const std::string text = holder_text();
      if (::ftruncate(fd, 0) != 0 ||
          ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        // the lock counts, not its text
      }
      return std::make_unique<PosixLease>(fd, name);
    }
    ::close(fd);
  }
  throw Error(Code::locked, path + ": the writer lease changes hands too often: try again");
}

}  // namespace sluice::storage
