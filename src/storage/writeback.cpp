// Through the page cache, with the write-back of long writes begun at once.
//
// The kernel otherwise begins it after many seconds, or at the sync, which then waits for all of
// it. Begun early, the disk works while the next bytes are copied. A thread begins it: the call
// waits where the disk has enough to do.
//
// Invariants: what is begun is a hint, may be left out, and reports nothing; sync() waits for all
// bytes, and reports the errors of those that were begun. Of the pages at the ends of a write, the
// last is left if it is not full, for the write that continues it.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "storage/background_thread.hpp"
#include "storage/own_process.hpp"
#include "storage/posix_file.hpp"

namespace sluice::storage {

namespace {

/// Shorter writes are left to the kernel, which joins them.
constexpr std::size_t min_begun_bytes = 64 << 10;
/// Copied before its write-back begins.
constexpr std::size_t begun_piece_bytes = 4 << 20;
constexpr std::uint64_t cache_page_bytes = 4096;
/// What waits beyond it is left to the kernel.
constexpr std::size_t most_waiting = 256;

/// A thread that begins the write-back of ranges of a file, in their order. Any thread; inert in a
/// forked process.
class Beginner {
 public:
  Beginner(const SystemCalls& calls, int descriptor, Cores cores)
      : calls_(calls), descriptor_(descriptor), cores_(cores) {}
  Beginner(const Beginner&) = delete;
  Beginner& operator=(const Beginner&) = delete;
  ~Beginner() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      waiting_.clear();
    }
    changed_.notify_one();
    thread_.join();
  }

  void begin(std::uint64_t first, std::uint64_t last) {
    if (!own_.is_here()) return;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() >= most_waiting || !has_thread()) return;
      if (!waiting_.empty() && waiting_.back().last == first) {
        waiting_.back().last = last;
        return;
      }
      waiting_.push_back({first, last});
    }
    changed_.notify_one();
  }

 private:
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };

  bool has_thread() {
    if (thread_.joinable()) return true;
    try {
      thread_ = start_background([this] { work(); }, cores_);
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
      if (ends_) return;
      const Range range = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      calls_.begin_writeback(descriptor_, static_cast<off_t>(range.first),
                             static_cast<off_t>(range.last - range.first));
      lock.lock();
    }
  }

  const SystemCalls calls_;
  const int descriptor_;
  const Cores cores_;
  const OwnProcess own_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Range> waiting_;
  bool ends_ = false;
  std::thread thread_;
};

class WritebackFile final : public PosixFile {
 public:
  WritebackFile(const SystemCalls& calls, const Place& place, const std::string& path,
                Access access, Cores cores)
      : PosixFile(calls, place, path, access),
        beginner_(new Beginner(this->calls(), descriptor(), cores)) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (bytes.size() < min_begun_bytes) return PosixFile::write(offset, bytes);
    while (!bytes.empty()) {
      const std::size_t piece = std::min(bytes.size(), begun_piece_bytes);
      PosixFile::write(offset, bytes.first(piece));
      const std::uint64_t first = offset - offset % cache_page_bytes;
      offset += piece;
      bytes = bytes.subspan(piece);
      if (first < offset - offset % cache_page_bytes)
        beginner_->begin(first, offset - offset % cache_page_bytes);
    }
  }
  void begin_sync() override { calls().begin_writeback(descriptor(), 0, 0); }
  void close() override {
    beginner_.reset();  // its thread uses the descriptor
    PosixFile::close();
  }

 private:
  HomePtr<Beginner> beginner_;  // ends before the file
};

class WritebackStorage final : public PosixStorage {
 public:
  WritebackStorage(const SystemCalls& calls, Cores cores) : PosixStorage(calls), cores_(cores) {}

  std::unique_ptr<File> open(const std::string& path, Access access) override {
    if (access == Access::read) return PosixStorage::open(path, access);
    return std::make_unique<WritebackFile>(calls(), place_of(path), path, access, cores_);
  }
  const char* name() const override { return "writeback"; }

 private:
  const Cores cores_;
};

}  // namespace

std::shared_ptr<Storage> make_writeback(const SystemCalls& calls, Cores cores) {
  return std::make_shared<WritebackStorage>(calls, cores);
}

std::shared_ptr<Storage> make_writeback() { return make_writeback(real_system_calls()); }

}  // namespace sluice::storage
