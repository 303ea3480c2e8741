// One part of a record group in memory: the scalars of one writer, in order, dense and
// little-endian, and their signature.
//
// Invariants: a scalar costs one copy and, if its type differs from the last one's, one comparison
// of runs; a value must be read as the type that was written.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <string>

#include "layout/records/signature.hpp"

namespace sluice::layout::records {

/// The position of the next scalar. As in sluice/records_inline.h.
struct Place {
  std::byte* at = nullptr;
  std::byte* end = nullptr;
  Run run;  ///< the current run; while reading: the rest of it
  Repeat* repeat = nullptr;
};

class PartWriter {
 public:
  /// Copies `count` scalars of `code`, of `bytes` in total. False if there is no memory for them.
  bool write(ScalarCode code, const void* data, std::uint64_t count, std::size_t bytes) noexcept {
    if (bytes > static_cast<std::size_t>(place_.end - place_.at) && !grow(bytes)) {
      return false;
    }
    if (code != place_.run.code) {
      if (place_.run.count != 0 && !coder_.repeat().goes_on(place_.run) && !close_run()) {
        return false;
      }
      place_.run = {code, 0};
    }
    place_.run.count += count;
    std::memcpy(place_.at, data, bytes);
    place_.at += bytes;
    return true;
  }
  /// For writing without a call; valid as long as this object is not moved.
  Place& place() noexcept {
    place_.repeat = &coder_.repeat();
    return place_;
  }

  /// For what was written; nothing can be written before restart().
  std::span<const std::byte> signature();
  std::span<const std::byte> payload() const noexcept {
    return {memory_.get(), static_cast<std::size_t>(place_.at - memory_.get())};
  }
  /// Clears what was written; the memory is kept.
  void restart();

 private:
  bool grow(std::size_t bytes) noexcept;
  bool close_run() noexcept;

  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  Place place_;
  std::unique_ptr<std::byte, Free> memory_;
  SignatureCoder coder_;
};

/// Several parts, one after the other.
class PartReader {
 public:
  /// Appends a part; its bytes must stay valid. `name` is for messages: "group 3, part 5".
  void add(std::span<const std::byte> signature, std::span<std::byte> payload, std::string name);
  void clear();

  /// Copies the next `count` scalars, of `bytes` in total. Error type_mismatch, naming both types,
  /// if they are not of `code`; out_of_bounds if there are fewer; damaged. Those before the error
  /// are consumed.
  void read(ScalarCode code, void* data, std::uint64_t count, std::size_t bytes) {
    if (!read_within(code, data, count, bytes)) {
      read_across(code, data, count);
    }
  }
  /// The same if all of them are in one run; otherwise returns false and does nothing.
  bool read_within(ScalarCode code, void* data, std::uint64_t count, std::size_t bytes) noexcept {
    if (code == place_.run.code && count <= place_.run.count) {
      place_.run.count -= count;
      std::memcpy(data, place_.at, bytes);
      place_.at += bytes;
      return true;
    }
    return false;
  }
  /// For reading without a call; valid as long as this object is not moved.
  Place& place() noexcept { return place_; }
  /// Has everything been read?
  bool at_end();

 private:
  struct Part {
    std::span<const std::byte> signature;
    std::span<std::byte> payload;
    std::string name;
  };
  void read_across(ScalarCode code, void* data, std::uint64_t count);
  bool advance();
  [[noreturn]] void refuse(ScalarCode code) const;

  Place place_;  ///< all of the current run is in the payload
  SignatureReader signature_;
  std::deque<Part> parts_;
  std::size_t next_part_ = 0;
};

}  // namespace sluice::layout::records
