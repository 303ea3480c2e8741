#include "storage/own_process.hpp"

#include <atomic>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

#include "sluice/error.hpp"

namespace sluice::storage {

namespace {

/// The number of the process, on a page that the kernel clears in every child; nullptr if that is
/// not supported.
std::atomic<int>* make_page() {
  const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (::madvise(page, bytes, MADV_WIPEONFORK) != 0) {
    ::munmap(page, bytes);
    return nullptr;
  }
  return new (page) std::atomic<int>(0);
}

int this_process() noexcept {
  static std::atomic<int>* const page = make_page();
  if (page == nullptr) return ::getpid();
  int process = page->load(std::memory_order_relaxed);
  if (process == 0) {
    process = ::getpid();
    page->store(process, std::memory_order_relaxed);
  }
  return process;
}

}  // namespace

OwnProcess::OwnProcess() noexcept : process_(this_process()) {}

bool OwnProcess::is_here() const noexcept { return process_ == this_process(); }

void OwnProcess::refuse(const std::string& what) const {
  throw Error(Code::wrong_state, what + ": was opened by process " + std::to_string(process_) +
                                     ", of which this one was forked: open it after the fork, in "
                                     "the process that uses it");
}

}  // namespace sluice::storage
