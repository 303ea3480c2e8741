#include "storage/spill.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "sluice/error.hpp"
#include "storage/background_thread.hpp"
#include "storage/size_limit.hpp"

namespace sluice::storage {

namespace {

[[noreturn]] void fail(const std::string& folder, std::uint64_t bytes, int number) {
  throw Error(number == ENOSPC || number == EDQUOT || number == EFBIG ? Code::no_space : Code::io,
              folder + ": no space for " + std::to_string(bytes) +
                  " bytes of spilled memory: " + std::strerror(number));
}

int open_nameless(const std::string& folder) {
  int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) {
    return file;
  }
  // Not every file system supports unnamed files: a file that is unlinked at once serves as well.
  std::string path = folder + "/.sluice-spill-XXXXXX";
  file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file >= 0) {
    ::unlink(path.c_str());
  }
  return file;
}

}  // namespace

Spill::Spill(std::uint64_t bytes, std::uint64_t limit_bytes, const std::string& folder)
    : size_(bytes) {
  if (bytes <= limit_bytes) {
    memory_.resize(bytes);
    data_ = memory_.data();
    return;
  }
  const std::string place = folder.empty() ? "." : folder;
  const int file = open_nameless(place);
  if (file < 0) {
    fail(place, bytes, errno);
  }
  const SizeLimit no_signal;
  const int refused = [&] {
    const SignalsBlocked signals;  // of which any could end it: EINTR
    return ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  }();
  if (refused != 0) {
    ::close(file);
    fail(place, bytes, refused);
  }
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int number = errno;
  ::close(file);
  if (mapped == MAP_FAILED) {
    fail(place, bytes, number);
  }
  data_ = static_cast<std::byte*>(mapped);
  mapped_ = true;
}

Spill::~Spill() {
  if (mapped_) {
    ::munmap(data_, size_);
  }
}

Spill::Spill(Spill&& other) noexcept { *this = std::move(other); }

Spill& Spill::operator=(Spill&& other) noexcept {
  if (this != &other) {
    if (mapped_) {
      ::munmap(data_, size_);
    }
    memory_ = std::move(other.memory_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = std::exchange(other.mapped_, false);
  }
  return *this;
}

void Spill::let_go() noexcept {
  if (mapped_) {
    ::msync(data_, size_, MS_SYNC);
    ::madvise(data_, size_, MADV_DONTNEED);
  }
}

}  // namespace sluice::storage
