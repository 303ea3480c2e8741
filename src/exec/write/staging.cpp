#include "exec/write/staging.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "model/clock.hpp"
#include "model/round_up.hpp"
#include "sluice/error.hpp"
#include "storage/background_thread.hpp"

namespace sluice::exec {

namespace {

/// Direct writes from huge pages cost the kernel a quarter of what small ones do.
constexpr std::size_t huge_page_bytes = 2 << 20;

std::atomic<std::uint64_t> bytes_of_process = 0;

std::size_t small_page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

PooledMemory::PooledMemory(std::uint64_t counted_bytes) : counted_bytes_(counted_bytes) {
  bytes_of_process += counted_bytes_;
}

PooledMemory::~PooledMemory() { bytes_of_process -= counted_bytes_; }

std::uint64_t PooledMemory::all_bytes() noexcept { return bytes_of_process; }

Staging::Staging(std::size_t bytes) : PooledMemory(bytes), size_(bytes) {
  const bool is_huge = bytes >= huge_page_bytes;
  const std::size_t unit = is_huge ? huge_page_bytes : small_page_bytes();
  mapped_bytes_ = model::round_up(std::max<std::size_t>(bytes, 1), unit);
  const std::size_t asked = mapped_bytes_ + (is_huge ? unit : 0);
  void* const memory =
      ::mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(Code::over_budget, "no memory for " + std::to_string(bytes) + " bytes of staging");
  }
  auto* const first = static_cast<std::byte*>(memory);
  const std::size_t before = (unit - reinterpret_cast<std::uintptr_t>(first) % unit) % unit;
  data_ = first + before;
  if (before != 0) {
    ::munmap(first, before);
  }
  if (asked - before != mapped_bytes_) {
    ::munmap(data_ + mapped_bytes_, asked - before - mapped_bytes_);
  }
  // Hints: where they are refused, small pages do, and children copy what is written.
  if (is_huge) {
    ::madvise(data_, mapped_bytes_, MADV_HUGEPAGE);
  }
  ::madvise(data_, mapped_bytes_, MADV_DONTFORK);
}

Staging::~Staging() {
  if (process_.is_here() && !may_be_in_use()) {
    ::munmap(data_, mapped_bytes_);
  }
}

// -- the pool -------------------------------------------------------------------------------------

StagingPool& StagingPool::of_process() {
  // Never destroyed: files that end after it may still give back. A child leaves its parent's
  // alone, whose lock another thread may have held.
  static std::atomic<StagingPool*> pool = nullptr;
  struct AtExit {
    ~AtExit() {
      StagingPool* const last = pool.load();
      if (last != nullptr && last->process_.is_here()) {
        last->stop();
      }
    }
  };
  StagingPool* present = pool.load();
  while (present == nullptr || !present->process_.is_here()) {
    auto made = std::make_unique<StagingPool>();
    if (pool.compare_exchange_strong(present, made.get())) {
      present = made.release();
    }
  }
  static const AtExit at_exit;
  return *present;
}

StagingPool::~StagingPool() { stop(); }

std::unique_ptr<PooledMemory> StagingPool::take_if(
    const std::function<bool(const PooledMemory&)>& fits) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                  [&](const Idle& idle) { return fits(*idle.memory); });
  if (found == idle_.rend()) {
    return nullptr;
  }
  std::unique_ptr<PooledMemory> memory = std::move(found->memory);
  memory->mark_ = MessageMark();
  memory->is_idle_ = false;
  idle_.erase(std::next(found).base());
  return memory;
}

std::unique_ptr<Staging> StagingPool::take_staging(std::size_t bytes, std::uint64_t budget_bytes,
                                                   bool is_needed) {
  auto found = take<Staging>([&](const Staging& idle) {
    return idle.size() >= bytes && idle.size() / 2 <= bytes;  // more is better kept for others
  });
  if (found) {
    return found;
  }
  return make_room(bytes, budget_bytes) || is_needed ? std::make_unique<Staging>(bytes) : nullptr;
}

void StagingPool::give_back(std::unique_ptr<PooledMemory> memory, double idle_s) {
  if (!memory || memory->may_be_in_use() || idle_s <= 0) {
    return;
  }
  memory->is_idle_ = true;
  const double until_s = model::now_s() + idle_s;
  {
    const std::lock_guard lock(mutex_);
    if (stop_) {
      return;
    }
    idle_.push_back({std::move(memory), until_s});
    if (thread_.joinable() && until_s >= wakes_s_) {
      return;
    }
    start_thread();
    wakes_s_ = std::min(wakes_s_, until_s);
  }
  changed_.notify_all();
}

bool StagingPool::make_room(std::uint64_t bytes, std::uint64_t budget_bytes) {
  Freed freed;
  std::uint64_t freed_bytes = 0;
  const auto is_room = [&] {
    return PooledMemory::all_bytes() - freed_bytes + bytes <= budget_bytes;
  };
  const std::lock_guard lock(mutex_);
  while (!is_room() && !idle_.empty()) {
    freed_bytes += idle_.front().memory->counted_bytes();
    freed.push_back(std::move(idle_.front().memory));
    idle_.erase(idle_.begin());
  }
  return is_room();
}

void StagingPool::drop(const std::function<bool(const PooledMemory&)>& is_useless) {
  while (const auto memory = take_if(is_useless)) {
  }
}

std::uint64_t StagingPool::idle_bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const Idle& idle : idle_) {
    sum += idle.memory->counted_bytes();
  }
  return sum;
}

/// Once.
void StagingPool::start_thread() {
  if (thread_.joinable()) {
    return;
  }
  wakes_s_ = std::numeric_limits<double>::infinity();
  try {
    thread_ = storage::start_background([this] { run(); });
  } catch (const std::system_error&) {
    idle_.clear();  // nobody would ever free it
  }
}

StagingPool::Freed StagingPool::expired(double now_s) {
  Freed freed;
  for (Idle& idle : idle_) {
    if (idle.until_s <= now_s) {
      freed.push_back(std::move(idle.memory));
    }
  }
  std::erase_if(idle_, [](const Idle& idle) { return !idle.memory; });
  return freed;
}

void StagingPool::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const double now_s = model::now_s();
    if (Freed freed = expired(now_s); !freed.empty()) {
      lock.unlock();
      freed.clear();
      lock.lock();
      continue;
    }
    wakes_s_ = std::numeric_limits<double>::infinity();
    for (const Idle& idle : idle_) {
      wakes_s_ = std::min(wakes_s_, idle.until_s);
    }
    if (idle_.empty()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, std::chrono::duration<double>(std::min(wakes_s_ - now_s, 3600.0)));
    }
  }
}

void StagingPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    idle_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace sluice::exec
