#include "mpiio/staging.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <vector>

#include "mpiio/memory.hpp"
#include "mpiio/pending.hpp"
#include "mpiio/settings.hpp"
#include "sluice/error.hpp"

namespace sluice::mpiio {

namespace {

constexpr auto alignment_bytes = static_cast<std::size_t>(page_bytes);
constexpr std::size_t large_bytes = std::size_t{4} << 20;
constexpr std::size_t small_bytes = 256 << 10;
/// From here on it pays that memory and file agree on where a page begins.
constexpr std::size_t direct_bytes = 64 << 10;
/// A hole in the range of a job from which on the next piece is another job's.
constexpr std::int64_t far_bytes = 64 << 10;

/// Memory that is used again. The budget counts what is in use and what is idle.
class Pool {
 public:
  static Pool& all() {
    static auto* const pool = new Pool;  // threads use it until the process ends
    return *pool;
  }

  std::byte* take(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    std::vector<std::byte*>& own = idle(bytes);
    std::vector<std::byte*>& others = idle(bytes == large_bytes ? small_bytes : large_bytes);
    const std::size_t others_bytes = bytes == large_bytes ? small_bytes : large_bytes;
    for (;;) {
      if (!own.empty()) {
        std::byte* const memory = own.back();
        own.pop_back();
        return memory;
      }
      while (held_bytes_ + bytes > budget_bytes_ && !others.empty()) {
        std::free(others.back());
        others.pop_back();
        held_bytes_ -= others_bytes;
      }
      if (held_bytes_ + bytes <= budget_bytes_) {
        break;
      }
      wait(lock);
    }
    constexpr std::size_t huge_page_bytes = 2 << 20;
    const bool is_large = bytes == large_bytes;
    void* const memory = std::aligned_alloc(is_large ? huge_page_bytes : alignment_bytes, bytes);
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    if (is_large) {
      ::madvise(memory, bytes, MADV_HUGEPAGE);  // a hint: refusal changes nothing
    }
    held_bytes_ += bytes;
    return static_cast<std::byte*>(memory);
  }

  void give_back(std::byte* memory, std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      idle(bytes).push_back(memory);
    }
    given_back_.notify_all();
  }

 private:
  /// Until a thread has written something.
  void wait(std::unique_lock<std::mutex>& lock) {
    constexpr double longest_s = 1e8;  // no limit
    const std::chrono::duration<double> limit(std::min(pending_timeout_s(), longest_s));
    if (given_back_.wait_for(lock, limit) == std::cv_status::timeout) {
      throw Error(Code::timeout,
                  "nothing of what is staged was written within SLUICE_TIMEOUT_S, and "
                  "SLUICE_MPIIO_BUDGET_MIB has no room for more");
    }
  }
  std::vector<std::byte*>& idle(std::size_t bytes) { return idle_[bytes == large_bytes ? 1 : 0]; }

  std::mutex mutex_;
  std::condition_variable given_back_;
  std::array<std::vector<std::byte*>, 2> idle_;
  std::size_t held_bytes_ = 0;
  const std::size_t budget_bytes_ =
      std::max<std::size_t>(static_cast<std::size_t>(staging_budget_bytes()), 2 * large_bytes);
};

}  // namespace

std::int64_t staging_budget_bytes() {
  constexpr std::int64_t standard_mib = 256;
  const std::int64_t mib = asked_budget_mib().value_or(standard_mib);
  return std::min(mib, std::int64_t{1} << 30) << 20;
}

StagedJob::StagedJob(std::int64_t bytes)
    : capacity_(bytes + static_cast<std::int64_t>(alignment_bytes) <=
                        static_cast<std::int64_t>(small_bytes)
                    ? small_bytes
                    : large_bytes) {
  memory_ = Pool::all().take(capacity_);
}

StagedJob::~StagedJob() { Pool::all().give_back(memory_, capacity_); }

std::size_t StagedJob::add(std::int64_t offset, std::span<const std::byte> bytes) {
  const bool is_first = pieces_ == 0;
  const bool follows = !is_first && piece(pieces_ - 1).run.end() == offset;
  std::size_t at = used_;
  if (!follows && (is_first || bytes.size() >= direct_bytes)) {
    const std::size_t within = static_cast<std::size_t>(offset) % alignment_bytes;
    at += (within + alignment_bytes - used_ % alignment_bytes) % alignment_bytes;
  }
  const std::size_t room = capacity_ - (pieces_ + (follows ? 0 : 1)) * sizeof(Piece);
  const std::size_t taken = at >= room ? 0 : std::min(bytes.size(), room - at);
  if (taken == 0) {
    return 0;
  }
  std::memcpy(memory_ + at, bytes.data(), taken);
  const auto length = static_cast<std::int64_t>(taken);
  if (follows) {
    piece(pieces_ - 1).run.length += length;
  } else {
    first_ = is_first ? offset : std::min(first_, offset);
    new (&piece(pieces_)) Piece{{offset, length}, at};
    ++pieces_;
  }
  last_ = std::max(last_, offset + length);
  bytes_ += length;
  used_ = at + taken;
  return taken;
}

bool StagedJob::is_far(std::int64_t offset) const {
  return pieces_ > 0 && (offset > last_ + far_bytes || offset < first_ - far_bytes);
}

}  // namespace sluice::mpiio
