// The pending reads of this rank.
//
// Invariant: every read gets one callback, when all its pieces have been answered. The failure of a
// read without a callback is kept until it is taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "plan/session_tiles.hpp"

namespace sluice::commit {

class SessionReads {
 public:
  using Calls = std::deque<std::function<void()>>;
  using Done = std::function<void(const std::exception_ptr& failure)>;

  /// `calls` gets the callbacks and must outlive the object.
  explicit SessionReads(Calls& calls) : calls_(calls) {}

  bool empty() const { return reads_.empty(); }
  /// The first failure since the last call of a read that had no callback.
  std::exception_ptr take_failure() { return std::exchange(failure_, nullptr); }

  /// A read of this many pieces; returns its number. `into` must stay until `done` is called.
  std::uint64_t begin(std::uint64_t offset, std::span<std::byte> into, std::size_t pieces,
                      Done done) {
    Read& read = reads_[++last_];
    read = {into, offset, pieces, std::move(done), nullptr};
    if (pieces == 0) {
      end(last_, read);
    }
    return last_;
  }

  /// One of its pieces, or why it is not available.
  void answer(std::uint64_t number, const plan::ByteRange& range, std::span<const std::byte> bytes,
              const std::exception_ptr& failure) {
    Read& read = reads_.at(number);
    if (failure) {
      read.failure = read.failure ? read.failure : failure;
    } else {
      std::copy(bytes.begin(), bytes.end(), read.into.data() + (range.offset - read.offset));
    }
    if (--read.pieces_left == 0) {
      end(number, read);
    }
  }

 private:
  struct Read {
    std::span<std::byte> into;
    std::uint64_t offset = 0;
    std::size_t pieces_left = 0;
    Done done;
    std::exception_ptr failure;
  };

  void end(std::uint64_t number, Read& read) {
    if (read.done) {
      calls_.push_back([done = std::move(read.done), failure = read.failure] { done(failure); });
    } else if (!failure_) {
      failure_ = read.failure;
    }
    reads_.erase(number);
  }

  Calls& calls_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Read> reads_;
  std::exception_ptr failure_;
};

}  // namespace sluice::commit
