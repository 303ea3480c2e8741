#include "storage/shared_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "sluice/error.hpp"
#include "storage/background_thread.hpp"
#include "storage/size_limit.hpp"

namespace sluice::storage {

namespace {

[[noreturn]] void fail(Code code, const std::string& what, int number) {
  throw Error(code, what + ": " + std::strerror(number));
}

std::uint64_t draw_nonce() {
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

#ifdef MADV_POPULATE_WRITE
constexpr int populate_write = MADV_POPULATE_WRITE;
#else
constexpr int populate_write = -1;  ///< known to no kernel
#endif

#ifdef MADV_COLLAPSE
constexpr int collapse = MADV_COLLAPSE;
#else
constexpr int collapse = 25;        ///< Linux 6.1; older ones refuse it
#endif

/// Does the kernel account for committed memory strictly (vm.overcommit_memory = 2)?
bool counts_promises() {
  std::ifstream file("/proc/sys/vm/overcommit_memory");
  int mode = 0;
  return (file >> mode) && mode == 2;
}

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

bool can_populate() {
  const std::uint64_t bytes = page_bytes();
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return false;
  }
  const bool can = ::madvise(at, bytes, populate_write) == 0;
  ::munmap(at, bytes);
  return can;
}

}  // namespace

bool SharedMemory::makes_room_in_parts() {
  static const bool does = can_populate() && !counts_promises();
  return does;
}

SharedMemory::SharedMemory(int descriptor, std::uint64_t bytes) : descriptor_(descriptor) {
  key_.process = ::getpid();
  key_.descriptor = descriptor;
  key_.bytes = bytes;
}

SharedMemory::~SharedMemory() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, header_bytes + key_.bytes);
  }
  ::close(descriptor_);
}

/// At an address where huge pages can be: the kernel chooses one only if it gives them by default.
void SharedMemory::map(std::uint64_t mapped_bytes) {
  const std::uint64_t wide = mapped_bytes + huge_page_bytes;
  void* const room = ::mmap(nullptr, wide, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* at = MAP_FAILED;
  if (room != MAP_FAILED) {
    const auto first = reinterpret_cast<std::uintptr_t>(room);
    const std::uint64_t before = (huge_page_bytes - first % huge_page_bytes) % huge_page_bytes;
    const std::uint64_t used = (mapped_bytes + page_bytes() - 1) / page_bytes() * page_bytes();
    auto* const aligned = static_cast<std::byte*>(room) + before;
    at = ::mmap(aligned, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor_,
                0);
    const int number = errno;
    if (at == MAP_FAILED) {
      ::munmap(room, wide);
      errno = number;
    } else {
      ::munmap(room, before);
      ::munmap(aligned + used, huge_page_bytes - before);
    }
  }
  if (at == MAP_FAILED) {
    fail(Code::no_space, "mapping " + std::to_string(mapped_bytes) + " bytes of shared memory",
         errno);
  }
  mapping_ = static_cast<std::byte*>(at);
  data_ = mapping_ + header_bytes;
  ::madvise(at, mapped_bytes, MADV_HUGEPAGE);  // a hint: if it is refused, small pages are used
}

/// The mapping begins with the header: a nonce, which verifies the memory for a process that
/// attaches, and how many use it.
std::atomic_ref<std::uint32_t> SharedMemory::users() const noexcept {
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(mapping_ + sizeof key_.nonce));
}

bool SharedMemory::claim(std::uint32_t users) noexcept {
  std::uint32_t nobody = 0;
  return this->users().compare_exchange_strong(nobody, users);
}

void SharedMemory::leave() noexcept { --users(); }

void SharedMemory::make_room(std::uint64_t first, std::uint64_t last) {
  const std::uint64_t from = first / page_bytes() * page_bytes();
  if (from >= last) {
    return;
  }
  if (makes_room_in_parts()) {
    if (::madvise(mapping_ + from, last - from, populate_write) != 0) {
      fail(Code::no_space, std::to_string(last - first) + " bytes of shared memory", errno);
    }
    return;
  }
  const SizeLimit no_signal;
  const SignalsBlocked signals;  // of which any could end it: EINTR
  const int refused =
      ::posix_fallocate(descriptor_, static_cast<off_t>(from), static_cast<off_t>(last - from));
  if (refused != 0) {
    fail(Code::no_space, std::to_string(last - first) + " bytes of shared memory", refused);
  }
}

void SharedMemory::reserve(std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t at = first; at < last;) {
    const std::uint64_t end =
        (header_bytes + at) / huge_page_bytes * huge_page_bytes + huge_page_bytes - header_bytes;
    const bool is_whole = (header_bytes + at) % huge_page_bytes == 0 && end <= last;
    if (!is_whole || !reserve_huge_page(at)) {
      make_room(header_bytes + at, header_bytes + std::min(end, last));
    }
    at = end;
  }
}

bool SharedMemory::reserve_huge_page(std::uint64_t at) {
  const std::uint64_t first = (header_bytes + at) / huge_page_bytes * huge_page_bytes;
  if (is_refused_huge_ || !makes_room_in_parts() ||
      first + huge_page_bytes > header_bytes + key_.bytes) {
    return false;
  }
  make_room(first, first + 1);  // a page of which nothing is there is refused
  if (::madvise(mapping_ + first, huge_page_bytes, collapse) == 0) {
    return true;
  }
  // These are about that page: some of it is being written to a disk, or another process is at it.
  if (errno != EAGAIN && errno != EBUSY) {
    is_refused_huge_ = true;
  }
  return false;
}

std::unique_ptr<SharedMemory> SharedMemory::make(std::uint64_t bytes) {
  const int descriptor = ::memfd_create("sluice-staging", MFD_CLOEXEC);
  if (descriptor < 0) {
    fail(Code::no_space, "shared memory", errno);
  }
  std::unique_ptr<SharedMemory> memory(new SharedMemory(descriptor, bytes));
  const auto length = static_cast<off_t>(header_bytes + bytes);
  const SizeLimit no_signal;  // the limit of file size also applies to memory that has a descriptor
  if (::ftruncate(descriptor, length) != 0) {
    fail(Code::no_space, std::to_string(bytes) + " bytes of shared memory", errno);
  }
  memory->map(header_bytes + bytes);
  memory->make_room(0, header_bytes);
  memory->key_.nonce = draw_nonce();
  std::memcpy(memory->mapping_, &memory->key_.nonce, sizeof memory->key_.nonce);
  return memory;
}

std::unique_ptr<SharedMemory> SharedMemory::attach(const Key& key) {
  const std::string path =
      "/proc/" + std::to_string(key.process) + "/fd/" + std::to_string(key.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    fail(Code::io, path, errno);
  }
  std::unique_ptr<SharedMemory> memory(new SharedMemory(descriptor, key.bytes));
  // A descriptor of that number in another process of that number: containers have their own
  // numbers.
  const off_t length = ::lseek(descriptor, 0, SEEK_END);
  if (length != static_cast<off_t>(header_bytes + key.bytes)) {
    throw Error(Code::io, path + ": is other memory");
  }
  memory->map(header_bytes + key.bytes);
  if (std::memcmp(memory->mapping_, &key.nonce, sizeof key.nonce) != 0) {
    throw Error(Code::io, path + ": is other memory");
  }
  memory->key_.nonce = key.nonce;
  return memory;
}

}  // namespace sluice::storage
