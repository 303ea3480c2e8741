#include "storage/object/read_ahead.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <utility>

namespace sluice::storage {

/// The ranges of one call of begin().
class ReadAhead::Run : public std::enable_shared_from_this<Run> {
 public:
  Run(Bucket& bucket, Workers& workers, std::uint64_t most_bytes, std::vector<ObjectRange> ranges)
      : bucket_(bucket), workers_(workers), most_bytes_(most_bytes) {
    for (ObjectRange& range : ranges) {
      const std::pair at(range.path, range.range.offset);
      if (places_.emplace(at, ranges_.size()).second) {
        ranges_.push_back({std::move(range), {}, State::waiting, 0, nullptr});
      }
    }
  }

  /// Begins as many as there is room for. Where no thread can be had they are read here.
  void begin_more() {
    for (auto i = next(); i; i = next()) {
      try {
        workers_.submit([weak = weak_from_this(), at = *i] {
          if (const auto run = weak.lock()) run->fetch(at);
        });
      } catch (const std::exception&) {  // no memory: it is read by who asks for it
        const std::lock_guard lock(mutex_);
        release(ranges_[*i]);
        return;
      }
    }
  }

  std::optional<std::size_t> take(const std::string& key, std::uint64_t offset,
                                  std::span<std::byte> into) {
    std::unique_lock lock(mutex_);
    const auto after = places_.upper_bound({key, offset});
    if (after == places_.begin() || std::prev(after)->first.first != key) {
      return std::nullopt;
    }
    Range& range = ranges_[std::prev(after)->second];
    const std::uint64_t within = offset - range.at.range.offset;
    if (within >= range.at.range.bytes || into.size() > range.at.range.bytes - within) {
      return std::nullopt;
    }
    changed_.wait(lock, [&] { return range.state != State::begun; });
    if (range.failure) {
      std::rethrow_exception(range.failure);
    }
    if (range.state != State::held) {
      range.state = State::given;
      return std::nullopt;
    }
    const std::size_t there = range.bytes.size() - std::min(range.bytes.size(), within);
    const std::size_t got = std::min(there, into.size());
    if (got != 0) std::memcpy(into.data(), range.bytes.data() + within, got);
    range.taken += into.size();
    if (std::max(range.taken, within + into.size()) >= range.at.range.bytes) {
      release(range);
      lock.unlock();
      begin_more();
    }
    return got;
  }

 private:
  enum class State : std::uint8_t { waiting, begun, held, given };
  struct Range {
    ObjectRange at;
    std::vector<std::byte> bytes;
    State state = State::waiting;
    std::uint64_t taken = 0;
    std::exception_ptr failure;
  };

  /// The next one, if there is room for it; it is begun.
  std::optional<std::size_t> next() {
    const std::lock_guard lock(mutex_);
    while (next_ < ranges_.size() && ranges_[next_].state != State::waiting) ++next_;
    if (next_ == ranges_.size() || has_failed_ ||
        held_bytes_ + ranges_[next_].at.range.bytes > most_bytes_) {
      return std::nullopt;
    }
    ranges_[next_].state = State::begun;
    held_bytes_ += ranges_[next_].at.range.bytes;
    return next_++;
  }

  void fetch(std::size_t i) {
    Range& range = ranges_[i];  // its bytes are of nobody else while it is begun
    std::exception_ptr failure;
    std::unique_lock lock(mutex_);
    const bool is_wanted = !has_failed_;
    lock.unlock();
    if (is_wanted) {
      try {
        range.bytes.resize(range.at.range.bytes);
        range.bytes.resize(bucket_.get(range.at.path, range.at.range.offset, range.bytes));
      } catch (...) {
        failure = std::current_exception();
      }
    }
    lock.lock();
    has_failed_ = has_failed_ || failure != nullptr;
    range.failure = failure;
    if (is_wanted && !failure) {
      range.state = State::held;
      changed_.notify_all();
    } else {
      release(range);
    }
  }

  /// Locked by the caller.
  void release(Range& range) {
    range.bytes = {};
    range.state = State::given;
    held_bytes_ -= range.at.range.bytes;
    changed_.notify_all();
  }

  Bucket& bucket_;
  Workers& workers_;
  const std::uint64_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Range> ranges_;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> places_;
  std::size_t next_ = 0;
  std::uint64_t held_bytes_ = 0;
  bool has_failed_ = false;
};

std::shared_ptr<void> ReadAhead::begin(std::vector<ObjectRange> ranges) {
  std::erase_if(ranges, [this](const ObjectRange& one) {
    return one.range.bytes == 0 || one.range.bytes > limits_.range_bytes;
  });
  if (ranges.size() < 2) {
    return nullptr;
  }
  const auto run = std::make_shared<Run>(bucket_, workers_, limits_.held_bytes, std::move(ranges));
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(runs_, [](const auto& known) { return known.expired(); });
    runs_.push_back(run);
  }
  run->begin_more();
  return run;
}

std::optional<std::size_t> ReadAhead::take(const std::string& key, std::uint64_t offset,
                                           std::span<std::byte> into) {
  std::vector<std::shared_ptr<Run>> runs;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& known : runs_) {
      if (auto run = known.lock()) runs.push_back(std::move(run));
    }
  }
  for (const auto& run : runs) {
    if (const auto got = run->take(key, offset, into)) {
      return got;
    }
  }
  return std::nullopt;
}

}  // namespace sluice::storage
