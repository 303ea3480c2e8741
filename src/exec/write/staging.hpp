// Memory through which bytes pass on their way to a file, and the process's pool of it.
//
// Invariants: memory is either used by one holder or idle in the pool; what was used last is used
// next, because its pages are mapped and nearest to the caches; what is idle for longer than its
// holder said is given back to the system, by a thread that sleeps otherwise; what is idle makes
// room for what is needed, so that idle memory never adds to the budget; what a message that was
// given up may still use is neither pooled nor freed. A forked child begins
// with a pool of its own, and never touches its parent's memory, which it does not have.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "exec/transport/given_up.hpp"
#include "sluice/options.hpp"
#include "storage/own_process.hpp"

namespace sluice::exec {

/// What the pool can keep.
class PooledMemory {
 public:
  virtual ~PooledMemory();
  PooledMemory(const PooledMemory&) = delete;
  PooledMemory& operator=(const PooledMemory&) = delete;
  /// What of it counts for this process.
  std::uint64_t counted_bytes() const noexcept { return counted_bytes_; }
  /// May a message that was given up while it had a user use it?
  bool may_be_in_use() const noexcept { return !is_idle_ && mark_.may_be_in_use(); }
  /// Of all that there is in the process, used and idle.
  static std::uint64_t all_bytes() noexcept;

 protected:
  explicit PooledMemory(std::uint64_t counted_bytes);

 private:
  friend class StagingPool;

  MessageMark mark_;  ///< of when it was made or taken
  bool is_idle_ = false;
  std::uint64_t counted_bytes_;
};

/// Memory of a fixed size, aligned to huge pages where it is as large as one. Children do not
/// inherit it: direct writes from it must not see a page change under them.
class Staging final : public PooledMemory {
 public:
  /// Error over_budget.
  explicit Staging(std::size_t bytes);
  ~Staging() override;
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
  std::size_t mapped_bytes_;
  storage::OwnProcess process_;
};

/// Of one user of staging.
struct StagingLimits {
  /// All staging of the process together, where more than the least is asked for.
  std::uint64_t budget_bytes = std::numeric_limits<std::uint64_t>::max();
  double idle_s = Options().staging_idle_s;
};

class StagingPool {
 public:
  static StagingPool& of_process();
  StagingPool() = default;
  ~StagingPool();
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  /// The one of those that fit which was used last; nullptr: none.
  template <class Kind>
  std::unique_ptr<Kind> take(const std::function<bool(const Kind&)>& fits) {
    auto found = take_if([&](const PooledMemory& idle) {
      const auto* const kind = dynamic_cast<const Kind*>(&idle);
      return kind != nullptr && fits(*kind);
    });
    return std::unique_ptr<Kind>(static_cast<Kind*>(found.release()));
  }
  /// Of at least so many bytes. `is_needed`: whatever the budget; else nullptr where there is no
  /// room. Error over_budget.
  std::unique_ptr<Staging> take_staging(std::size_t bytes, std::uint64_t budget_bytes,
                                        bool is_needed);
  /// Keeps it for `idle_s` seconds; nullptr is nothing. What may be in use is not kept.
  void give_back(std::unique_ptr<PooledMemory> memory, double idle_s);
  /// Frees idle memory, the longest idle first, until `bytes` more stay within the budget. False
  /// where they would not even so.
  bool make_room(std::uint64_t bytes, std::uint64_t budget_bytes);
  /// Frees everything idle that `is_useless`.
  void drop(const std::function<bool(const PooledMemory&)>& is_useless);
  std::uint64_t idle_bytes() const;

  /// No thread from here on: of who ends.
  void stop();

 private:
  struct Idle {
    std::unique_ptr<PooledMemory> memory;
    double until_s;
  };
  using Freed = std::vector<std::unique_ptr<PooledMemory>>;
  std::unique_ptr<PooledMemory> take_if(const std::function<bool(const PooledMemory&)>& fits);
  void start_thread();
  void run();
  Freed expired(double now_s);

  const storage::OwnProcess process_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Idle> idle_;  ///< those used last at the end
  double wakes_s_ = 0;      ///< when the thread will look again
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sluice::exec
