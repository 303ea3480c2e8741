// O_DIRECT for the aligned middle of a write, the page cache for its unaligned ends.
//
// Invariants: a direct write covers whole pages of the caller's own bytes, never a byte beside
// them, so its length is aligned even at the end of the file; the pages at an unaligned edge are
// only ever written through the cache, by this File and by any other (the kernel flushes and drops
// cached pages of a range before a direct write to it, so both views of a file agree). Reads, syncs
// and sizes use the buffered descriptor: both descriptors refer to one inode.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "storage/calls.hpp"
#include "storage/posix_file.hpp"
#include "storage/size_limit.hpp"

namespace sluice::storage {

namespace {

/// For a shorter aligned middle, a write of its own costs more than it saves.
constexpr std::size_t min_direct_bytes = 64 << 10;
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t max_alignment = 1 << 20;
constexpr std::size_t bounce_bytes = 4 << 20;
constexpr std::size_t bounce_alignment = 2 << 20;  // a huge page: fewer entries to pin
constexpr std::size_t max_idle_buffers = 4;

/// Aligned buffers for memory that is not aligned; touched once and reused. Keeps at most
/// max_idle_buffers; each writing thread uses one. Thread-safe.
class BouncePool {
 public:
  BouncePool() = default;
  BouncePool(const BouncePool&) = delete;
  BouncePool& operator=(const BouncePool&) = delete;
  ~BouncePool() {
    for (std::byte* buffer : idle_) std::free(buffer);
  }

  std::byte* take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::byte* buffer = idle_.back();
        idle_.pop_back();
        return buffer;
      }
    }
    void* fresh = std::aligned_alloc(bounce_alignment, bounce_bytes);
    if (fresh == nullptr) throw std::bad_alloc();
    ::madvise(fresh, bounce_bytes, MADV_HUGEPAGE);  // a hint: failure does not matter
    return static_cast<std::byte*>(fresh);
  }

  void give_back(std::byte* buffer) noexcept {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < max_idle_buffers && idle_.size() < idle_.capacity()) {
      idle_.push_back(buffer);
    } else {
      std::free(buffer);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::byte*> idle_ = [] {
    std::vector<std::byte*> empty;
    empty.reserve(max_idle_buffers);
    return empty;
  }();
};

/// A buffer of the pool for the length of a scope; acquired by the first data().
class Bounce {
 public:
  explicit Bounce(BouncePool& pool) : pool_(pool) {}
  Bounce(const Bounce&) = delete;
  Bounce& operator=(const Bounce&) = delete;
  ~Bounce() {
    if (buffer_ != nullptr) pool_.give_back(buffer_);
  }
  std::byte* data() {
    if (buffer_ == nullptr) buffer_ = pool_.take();
    return buffer_;
  }

 private:
  BouncePool& pool_;
  std::byte* buffer_ = nullptr;
};

/// The alignment of file offsets and memory addresses that direct I/O requires; offset 0:
/// impossible.
struct Needs {
  std::size_t offset = page_bytes;
  std::size_t memory = page_bytes;
};

Needs direct_needs(int fd) {
  Needs needs;
#ifdef STATX_DIOALIGN
  struct statx status = {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0) {
    // Whole pages even if sectors would do: an edge page of the file belongs to the cache, and
    // unaligned memory doubles the number of pieces for the disk (copying first was measured to be
    // 1.5 to 2 times faster).
    needs.memory = std::max<std::size_t>(page_bytes, status.stx_dio_mem_align);
    needs.offset = status.stx_dio_offset_align == 0
                       ? 0
                       : std::max<std::size_t>(page_bytes, status.stx_dio_offset_align);
  }
#endif
  const long page = ::sysconf(_SC_PAGESIZE);
  if (needs.offset != 0 && page > 0) {
    needs.offset = std::max(needs.offset, static_cast<std::size_t>(page));
  }
  const bool sane = std::has_single_bit(needs.offset) && std::has_single_bit(needs.memory) &&
                    needs.offset <= max_alignment && needs.memory <= max_alignment;
  if (!sane) needs.offset = 0;
  return needs;
}

bool same_file(int a, int b) {
  struct stat one = {};
  struct stat other = {};
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

class DirectFile final : public PosixFile {
 public:
  DirectFile(const SystemCalls& system, const Place& place, const std::string& file_path,
             Access access, std::shared_ptr<BouncePool> pool)
      : PosixFile(system, place, file_path, access), pool_(std::move(pool)) {
    // If the second descriptor cannot be opened, for any reason, the buffered one can do all the
    // work.
    direct_fd_ = open_descriptor(calls(), place, O_WRONLY | O_DIRECT | O_NOFOLLOW);
    if (direct_fd_ < 0) return;
    needs_ = direct_needs(direct_fd_);
    if (needs_.offset == 0 || !same_file(direct_fd_, descriptor())) close_direct();
  }
  ~DirectFile() override { close_direct(); }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    check_range(path(), Call::write, bytes.size(), offset);
    const std::size_t head = head_bytes(offset, bytes.size());
    const std::size_t middle = (bytes.size() - head) / alignment() * alignment();
    if (direct_fd_ < 0 || middle < min_direct_bytes || keeps_cached_.load()) {
      return PosixFile::write(offset, bytes);
    }
    PosixFile::write(offset, bytes.first(head));
    const std::size_t landed = write_middle(offset + head, bytes.subspan(head, middle));
    // The unaligned tail, and what direct I/O refused.
    PosixFile::write(offset + head + landed, bytes.subspan(head + landed));
  }

  std::size_t alignment() const override { return direct_fd_ < 0 ? 1 : needs_.offset; }
  void keep_cached(bool is_wanted) override { keeps_cached_.store(is_wanted); }
  void close() override {
    const int problem = close_direct();
    PosixFile::close();
    if (problem != 0) throw system_error(path(), "close", problem);
  }

 private:
  std::size_t head_bytes(std::uint64_t offset, std::size_t bytes) const {
    const auto past = static_cast<std::size_t>(offset % alignment());
    return past == 0 ? 0 : std::min(alignment() - past, bytes);
  }

  /// Writes from the front of `bytes` (offset and length aligned) and returns the number of bytes
  /// written; fewer only if direct I/O cannot continue but the page cache can.
  std::size_t write_middle(std::uint64_t offset, std::span<const std::byte> bytes) {
    const bool straight = reinterpret_cast<std::uintptr_t>(bytes.data()) % needs_.memory == 0;
    Bounce bounce(*pool_);
    const SizeLimit no_signal;
    std::size_t landed = 0;
    int idle = 0;
    while (landed < bytes.size()) {
      const auto piece = bytes.subspan(
          landed, std::min(bytes.size() - landed, straight ? max_call_bytes : bounce_bytes));
      const std::byte* from = piece.data();
      if (!straight) {
        from = bounce.data();
        std::memcpy(bounce.data(), piece.data(), piece.size());
      }
      const ssize_t count =
          calls().pwrite(direct_fd_, from, piece.size(), static_cast<off_t>(offset + landed));
      if (count < 0) {
        if (errno == EINTR && ++idle < max_idle_calls) continue;
        if (errno != EINVAL) {
          throw system_error(path(), describe(Call::write, bytes.size(), offset), errno);
        }
        close_direct();  // the open succeeded, but the file system refuses the first write
        return landed;
      }
      // A count inside a page cannot be continued from: step back to the last whole page.
      const std::size_t whole = static_cast<std::size_t>(count) / needs_.offset * needs_.offset;
      if (whole == 0) return landed;
      landed += whole;
      idle = 0;
    }
    return landed;
  }

  /// Returns its errno, or 0.
  int close_direct() {
    const int fd = std::exchange(direct_fd_, -1);
    return fd >= 0 && calls().close(fd) != 0 ? errno : 0;
  }

  const std::shared_ptr<BouncePool> pool_;
  Needs needs_;
  int direct_fd_ = -1;
  std::atomic<bool> keeps_cached_ = false;
};

class DirectStorage final : public PosixStorage {
 public:
  using PosixStorage::PosixStorage;

  std::unique_ptr<File> open(const std::string& path, Access access) override {
    // Reads go through the cache, so a file that is only read needs no second descriptor.
    if (access == Access::read) return PosixStorage::open(path, access);
    return std::make_unique<DirectFile>(calls(), place_of(path), path, access, pool_);
  }
  const char* name() const override { return "direct"; }

 private:
  // Shared with the files, which may outlive the storage.
  const std::shared_ptr<BouncePool> pool_ = std::make_shared<BouncePool>();
};

}  // namespace

std::shared_ptr<Storage> make_direct(const SystemCalls& calls) {
  return std::make_shared<DirectStorage>(calls);
}

std::shared_ptr<Storage> make_direct() { return make_direct(real_system_calls()); }

std::shared_ptr<Storage> make(const std::string& name) {
  if (name == "posix") return make_posix();
  if (name == "writeback") return make_writeback();
  if (name == "direct" || name == "auto") return make_direct();
  throw Error(
      Code::invalid_argument,
      "storage = \"" + name + "\" is not known: use one of auto, direct, writeback, posix, mpiio");
}

}  // namespace sluice::storage
