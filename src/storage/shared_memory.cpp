#include "storage/shared_memory.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "sluice/error.hpp"

namespace sluice::storage {

namespace {

/// The first page holds the nonce, by which one who attaches knows that it is the right memory.
constexpr std::uint64_t header_bytes = 4096;

[[noreturn]] void fail(Code code, const std::string& what, int number) {
  throw Error(code, what + ": " + std::strerror(number));
}

std::uint64_t draw_nonce() {
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

/// Does the kernel give huge pages to shared memory that asks for them? Asked once.
bool gives_huge_pages() {
  static const bool gives = [] {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    std::string words;
    std::getline(file, words);  // such as "always within_size advise [never] deny force"
    const auto chosen = [&](const char* word) { return words.find(word) != std::string::npos; };
    return chosen("[always]") || chosen("[within_size]") || chosen("[advise]") || chosen("[force]");
  }();
  return gives;
}

}  // namespace

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

void SharedMemory::map(std::uint64_t mapped_bytes) {
  void* at = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (at == MAP_FAILED) {
    fail(Code::no_space, "mapping " + std::to_string(mapped_bytes) + " bytes of shared memory",
         errno);
  }
  mapping_ = static_cast<std::byte*>(at);
  data_ = mapping_ + header_bytes;
  ::madvise(at, mapped_bytes, MADV_HUGEPAGE);  // a hint: where it is refused, small pages do
}

/// Every page is there, and in this process's tables, where those are huge pages.
void SharedMemory::populate_huge() {
  if (!gives_huge_pages()) {
    return;
  }
#ifdef MADV_POPULATE_WRITE
  ::madvise(mapping_, header_bytes + key_.bytes, MADV_POPULATE_WRITE);
#endif
}

std::unique_ptr<SharedMemory> SharedMemory::make(std::uint64_t bytes) {
  const int descriptor = ::memfd_create("sluice-staging", MFD_CLOEXEC);
  if (descriptor < 0) {
    fail(Code::no_space, "shared memory", errno);
  }
  std::unique_ptr<SharedMemory> memory(new SharedMemory(descriptor, bytes));
  const auto length = static_cast<off_t>(header_bytes + bytes);
  if (::ftruncate(descriptor, length) != 0) {
    fail(Code::no_space, std::to_string(bytes) + " bytes of shared memory", errno);
  }
  memory->map(header_bytes + bytes);
  // Before the reservation, which knows small pages only. What fails here fails there, in words.
  memory->populate_huge();
  const int refused = ::posix_fallocate(descriptor, 0, length);
  if (refused != 0) {
    fail(Code::no_space, std::to_string(bytes) + " bytes of shared memory", refused);
  }
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
  // A descriptor of that number in another process of that number: containers have their own.
  const off_t length = ::lseek(descriptor, 0, SEEK_END);
  if (length != static_cast<off_t>(header_bytes + key.bytes)) {
    throw Error(Code::io, path + ": is other memory");
  }
  memory->map(header_bytes + key.bytes);
  memory->populate_huge();
  if (std::memcmp(memory->mapping_, &key.nonce, sizeof key.nonce) != 0) {
    throw Error(Code::io, path + ": is other memory");
  }
  memory->key_ = key;
  return memory;
}

}  // namespace sluice::storage
