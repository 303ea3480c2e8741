#include "storage/private_copy.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "storage/calls.hpp"

namespace sluice::storage {

namespace {

/// Closes what it holds when it ends.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// False, with errno, where writing fails.
bool write_all(int to, const char* bytes, std::size_t count) {
  while (count != 0) {
    const ssize_t written = ::write(to, bytes, count);
    if (written < 0 && errno != EINTR) {
      return false;
    }
    const auto done = static_cast<std::size_t>(std::max<ssize_t>(0, written));
    bytes += done;
    count -= done;
  }
  return true;
}

bool read_at(int fd, std::uint64_t offset, void* bytes, std::size_t count) {
  return ::pread(fd, bytes, count, static_cast<off_t>(offset)) == static_cast<ssize_t>(count);
}

/// Are all parts of a library there that the loader would map? It does not look: what is beyond the
/// end of the file ends the process.
bool is_whole_library(int fd, std::uint64_t file_bytes) {
  ElfW(Ehdr) header{};
  if (!read_at(fd, 0, &header, sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_phentsize != sizeof(ElfW(Phdr))) {
    return false;
  }
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) part{};
    if (!read_at(fd, header.e_phoff + i * sizeof part, &part, sizeof part)) {
      return false;
    }
    if (part.p_type == PT_LOAD &&
        (part.p_filesz > file_bytes || part.p_offset > file_bytes - part.p_filesz)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string private_copy(const std::string& path) {
  OpenFile from(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (from.fd() < 0) {
    throw system_error(path, describe(Call::open), errno);
  }
  const std::string name = path.substr(path.rfind('/') + 1);
  OpenFile to(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (to.fd() < 0) {
    return "";
  }
  std::vector<char> buffer(1 << 16);
  ssize_t got = 0;
  std::uint64_t total = 0;
  do {
    got = ::read(from.fd(), buffer.data(), buffer.size());
    if (got < 0 && errno != EINTR) {
      throw system_error(path, describe(Call::read), errno);
    }
    if (got > 0 && !write_all(to.fd(), buffer.data(), static_cast<std::size_t>(got))) {
      return "";
    }
    total += static_cast<std::uint64_t>(std::max<ssize_t>(0, got));
  } while (got != 0);
  if (!is_whole_library(to.fd(), total)) {
    throw Error(Code::format, path + ": no library, or not all of one");
  }
  // Kept open: the loader knows what it has loaded by this name.
  return "/proc/self/fd/" + std::to_string(to.release());
}

std::vector<std::string> files_ending_in(const std::string& folder, const std::string& ending,
                                         std::string& why_not) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (auto at = std::filesystem::directory_iterator(folder, failed);
       !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
    std::error_code unknown;
    if (at->path().string().ends_with(ending) && at->is_regular_file(unknown)) {
      paths.push_back(at->path().string());
    }
  }
  if (failed) {
    why_not = failed.message();
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace sluice::storage
