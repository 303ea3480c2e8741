// The result of reading a damaged file: judged by its variables, values, attributes, times and
// steps, not by exit codes or exceptions alone.
//
// Invariants: a damaged file keeps the time of modification of its last commit, because decay on
// disk does not change it. Judging in children survives crashes and endless loops of libhdf5; the
// same bits give the same outcomes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "commit/read/input.hpp"
#include "commit/tools/verify.hpp"
#include "crash/snapshot.hpp"
#include "exec/transport/solo_transport.hpp"
#include "fuzz/mutate.hpp"
#include "layout/formats/formats.hpp"
#include "support/memory_storage.hpp"

namespace sluice::test {

enum class Outcome : std::uint8_t {
  none,      ///< not tried
  harmless,  ///< nothing has changed
  refused,   ///< the reader throws, and verify finds it too
  wrong,     ///< the reader returns something else, without an error
  unproven,  ///< the reader throws, but verify says "ok" or "not written by Sluice"
  crashed,   ///< a signal ended the process
  hung,      ///< it took too long
};

inline constexpr std::size_t outcomes = 7;

inline const char* outcome_name(Outcome outcome) {
  constexpr const char* names[outcomes] = {"not tried",          "without effect", "refused",
                                           "unnoticed",          "not verified",   "crashed",
                                           "taking all its time"};
  return names[static_cast<std::size_t>(outcome)];
}

/// An undamaged file, and its content.
struct Sample {
  FuzzBytes bytes;
  Snapshot golden;
  std::int64_t modified_ns = 0;  ///< of the last commit
};

/// A storage with these bytes as out.h5.
inline std::shared_ptr<storage::MemoryStorage> storage_of(std::span<const std::byte> bytes,
                                                          std::int64_t modified_ns) {
  auto storage = storage::make_memory();
  storage->put("out.h5", bytes);
  storage->open("out.h5", storage::Access::read_write)->set_modified_ns(modified_ns);
  return storage;
}

inline commit::Verdict verdict_of(storage::Storage& storage) {
  const auto alone = exec::make_solo();
  return commit::verify(*alone, storage, "out.h5");
}

/// Of bytes that Sluice wrote, in any format with a log of commits.
inline Sample sample_of(FuzzBytes bytes) {
  Sample sample{std::move(bytes), {}, 0};
  const auto storage = storage_of(sample.bytes, 0);
  const auto file = storage->open("out.h5", storage::Access::read);
  const auto catalog = layout::open_catalog(layout::format_in(*file, "auto"), *file);
  sample.modified_ns = catalog->commits().empty() ? 0 : catalog->commits().back().modified_ns;
  sample.golden = sluice_snapshot(storage_of(sample.bytes, sample.modified_ns), "out.h5");
  return sample;
}

/// Passes a damaged copy of the sample to the reader and to verify.
inline Outcome judge(const Sample& sample, std::span<const std::byte> damaged) {
  const auto storage = storage_of(damaged, sample.modified_ns);
  try {
    return sluice_snapshot(storage, "out.h5") == sample.golden ? Outcome::harmless : Outcome::wrong;
  } catch (const Error&) {
    // The reader reports it. The verdict of verify must match.
  }
  try {
    const commit::State state = verdict_of(*storage).state;
    // A damaged version number looks like a newer library's: verify says both.
    const bool is_told = state == commit::State::damaged ||
                         state == commit::State::changed_outside ||
                         state == commit::State::not_readable;
    return is_told ? Outcome::refused : Outcome::unproven;
  } catch (const Error&) {
    return Outcome::refused;
  }
}

inline Outcome judge_flip(const Sample& sample, std::size_t bit) {
  FuzzBytes bytes = sample.bytes;
  bytes[bit / 8] ^= std::byte(1U << bit % 8);
  return judge(sample, bytes);
}

/// What children report: memory shared with the parent.
class SharedOutcomes {
 public:
  explicit SharedOutcomes(std::size_t count) : count_(count) {
    memory_ = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) {
      throw std::bad_alloc();
    }
  }
  ~SharedOutcomes() { munmap(memory_, bytes()); }
  SharedOutcomes(const SharedOutcomes&) = delete;
  SharedOutcomes& operator=(const SharedOutcomes&) = delete;
  std::atomic<Outcome>& operator[](std::size_t i) {
    return static_cast<std::atomic<Outcome>*>(memory_)[i];
  }

 private:
  std::size_t bytes() const {
    return std::max<std::size_t>(1, count_) * sizeof(std::atomic<Outcome>);
  }
  std::size_t count_;
  void* memory_ = nullptr;
};

/// Judges `count` cases, one after the other, in a child. If a case ends the child, or takes longer
/// than `limit`, that is its outcome, and another child continues after it.
inline std::vector<Outcome> judge_in_children(
    std::size_t count, const std::function<Outcome(std::size_t)>& judge_case,
    std::chrono::milliseconds limit = std::chrono::seconds(5)) {
  SharedOutcomes shared(count);
  std::size_t first = 0;
  while (first < count) {
    const pid_t child = fork();
    if (child < 0) {
      throw std::runtime_error("fork failed");
    }
    if (child == 0) {
      for (std::size_t i = first; i < count; ++i) {
        try {
          shared[i] = judge_case(i);
        } catch (...) {
          shared[i] = Outcome::crashed;  // a reader may only throw Error
        }
      }
      _exit(0);
    }
    std::size_t at = first;
    auto since = std::chrono::steady_clock::now();
    int status = 0;
    bool is_slow = false;
    while (waitpid(child, &status, WNOHANG) == 0) {
      const std::size_t before = at;
      while (at < count && shared[at] != Outcome::none) {
        ++at;
      }
      const auto now = std::chrono::steady_clock::now();
      since = at != before ? now : since;
      if (now - since > limit) {
        is_slow = true;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    while (at < count && shared[at] != Outcome::none) {
      ++at;
    }
    if (at < count) {
      shared[at] = is_slow ? Outcome::hung : Outcome::crashed;
    }
    first = at < count ? at + 1 : count;
  }
  std::vector<Outcome> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = shared[i];
  }
  return all;
}

/// The outcomes of many damaged files.
struct Tally {
  std::size_t of[outcomes] = {};

  void add(Outcome outcome) { ++of[static_cast<std::size_t>(outcome)]; }
  std::size_t operator[](Outcome outcome) const { return of[static_cast<std::size_t>(outcome)]; }
  std::size_t tried() const {
    std::size_t sum = 0;
    for (const std::size_t n : of) {
      sum += n;
    }
    return sum;
  }
  /// One line: "T6 flipped bits: 300 tried, 100 refused, ...".
  void print(const char* what) const {
    std::printf(
        "%s: %zu tried, %zu refused, %zu without effect, %zu unnoticed, %zu not verified, "
        "%zu crashed, %zu hung\n",
        what, tried(), (*this)[Outcome::refused], (*this)[Outcome::harmless],
        (*this)[Outcome::wrong], (*this)[Outcome::unproven], (*this)[Outcome::crashed],
        (*this)[Outcome::hung]);
  }
};

/// Every `stride`th bit of a sample from `first` on, in children.
inline std::vector<std::pair<std::size_t, Outcome>> judge_flips(const Sample& sample,
                                                                std::size_t first, std::size_t end,
                                                                std::size_t stride) {
  const std::size_t count = first < end ? (end - first + stride - 1) / stride : 0;
  const auto all = judge_in_children(
      count, [&](std::size_t i) { return judge_flip(sample, first + i * stride); });
  std::vector<std::pair<std::size_t, Outcome>> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.emplace_back(first + i * stride, all[i]);
  }
  return pairs;
}

}  // namespace sluice::test
