#include "mpiio/independent.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace sluice::mpiio {

namespace {

/// Runs are read together if at least one byte in this many is requested.
constexpr std::int64_t most_read_for_one = 8;
/// A run of this size is read directly into contiguous memory.
constexpr std::int64_t straight_bytes = 256 << 10;

std::uint64_t place_of(std::int64_t offset) { return static_cast<std::uint64_t>(offset); }

/// Runs that are close together, read at once.
class Sieve {
 public:
  Sieve(Straight& file, const Memory& memory) : file_(file), memory_(memory) {}

  /// Adds a run whose bytes start at `stream` in memory. False: the file has ended.
  bool take(const Run& run, std::int64_t stream) {
    const bool is_small = run.length < straight_bytes || !memory_.is_contiguous();
    const bool fits = is_small && !runs_.empty() && run.offset >= runs_.back().end() &&
                      run.end() - runs_[0].offset <= buffer_bytes &&
                      run.end() - runs_[0].offset <= most_read_for_one * (wanted_ + run.length);
    if (!fits && !read()) {
      return false;
    }
    if (runs_.empty()) {
      stream_ = stream;
    }
    runs_.push_back(run);
    wanted_ += run.length;
    return runs_.size() < most_runs || read();
  }
  /// Reads the added runs. False: the file ended before their end.
  bool read() {
    if (runs_.empty()) {
      return true;
    }
    const bool is_whole =
        runs_.size() == 1 && memory_.is_contiguous() ? read_straight() : read_and_scatter();
    runs_.clear();
    wanted_ = 0;
    return is_whole;
  }
  std::int64_t done() const { return done_; }

 private:
  static constexpr std::size_t most_runs = 1 << 16;

  bool read_straight() {
    const Run& run = runs_[0];
    const std::size_t got =
        file_.read(place_of(run.offset), {memory_.at(stream_), size_of(run.length)});
    done_ += static_cast<std::int64_t>(got);
    return got == size_of(run.length);
  }

  bool read_and_scatter() {
    const std::int64_t first = runs_[0].offset;
    const std::int64_t bytes = runs_.back().end() - first;
    if (room_ < bytes) {
      room_ = std::min(std::max(bytes, 2 * room_), std::max(bytes, buffer_bytes));
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(size_of(room_));
    }
    const auto got =
        static_cast<std::int64_t>(file_.read(place_of(first), {buffer_.get(), size_of(bytes)}));
    std::int64_t stream = stream_;
    for (const Run& run : runs_) {
      const std::int64_t at = run.offset - first;
      const std::int64_t here = std::clamp<std::int64_t>(got - at, 0, run.length);
      memory_.scatter(stream, {buffer_.get() + at, size_of(here)});
      done_ += here;
      stream += run.length;
      if (here < run.length) {
        return false;
      }
    }
    return true;
  }

  Straight& file_;
  const Memory& memory_;
  std::vector<Run> runs_;
  std::int64_t stream_ = 0;  ///< of the first run
  std::int64_t wanted_ = 0;
  std::int64_t done_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  std::int64_t room_ = 0;
};

}  // namespace

void write_own(Sink& sink, const View& view, std::int64_t stream, const Memory& memory) {
  const std::int64_t bytes = memory.bytes();
  RunCursor runs(view, stream, bytes);
  if (memory.is_contiguous()) {
    for (std::int64_t at = 0; at < bytes;) {
      const Run run = runs.next(bytes);
      sink.write(place_of(run.offset), {memory.at(at), size_of(run.length)});
      at += run.length;
    }
    return;
  }
  const std::int64_t room = std::min(bytes, buffer_bytes);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(size_of(room));
  for (std::int64_t at = 0; at < bytes;) {
    const std::int64_t here = std::min(room, bytes - at);
    memory.gather(at, {buffer.get(), size_of(here)});
    for (std::int64_t done = 0; done < here;) {
      const Run run = runs.next(here - done);
      sink.write(place_of(run.offset), {buffer.get() + done, size_of(run.length)});
      done += run.length;
    }
    at += here;
  }
}

std::int64_t read_own(Straight& file, const View& view, std::int64_t stream, const Memory& memory) {
  const std::int64_t bytes = memory.bytes();
  RunCursor runs(view, stream, bytes);
  Sieve sieve(file, memory);
  // One run at a time is read whole into contiguous memory; else in buffers of bounded size.
  const std::int64_t most = memory.is_contiguous() ? bytes : buffer_bytes;
  for (std::int64_t at = 0; at < bytes;) {
    const Run run = runs.next(most);
    if (!sieve.take(run, at)) {
      return sieve.done();
    }
    at += run.length;
  }
  sieve.read();
  return sieve.done();
}

}  // namespace sluice::mpiio
