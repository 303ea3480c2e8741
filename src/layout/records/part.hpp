// One part of a record group in memory: the scalars that one writer gave, in order, dense and
// little-endian, and their signature.
//
// Invariants: a scalar costs one copy and, where its type is another than the last one's, one
// comparison of runs; what is read must have the type that was written.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <string>

#include "layout/records/signature.hpp"

namespace sluice::layout::records {

class PartWriter {
 public:
  /// Copies `count` scalars of `code`, whose size is `bytes` together. False where there is no
  /// memory for them.
  bool write(ScalarCode code, const void* data, std::uint64_t count, std::size_t bytes) noexcept {
    if (bytes > static_cast<std::size_t>(end_ - at_) && !grow(bytes)) {
      return false;
    }
    if (code != run_.code) {
      if (run_.count != 0 && !coder_.goes_on(run_) && !close_run()) {
        return false;
      }
      run_ = {code, 0};
    }
    run_.count += count;
    switch (bytes) {
      case 4:
        std::memcpy(at_, data, 4);
        break;
      case 8:
        std::memcpy(at_, data, 8);
        break;
      default:
        std::memcpy(at_, data, bytes);
    }
    at_ += bytes;
    return true;
  }

  /// Of what was written; nothing can be written before restart().
  std::span<const std::byte> signature();
  std::span<const std::byte> payload() const noexcept {
    return {memory_.get(), static_cast<std::size_t>(at_ - memory_.get())};
  }
  /// Forgets what was written; the memory is kept.
  void restart();

 private:
  bool grow(std::size_t bytes) noexcept;
  bool close_run() noexcept;

  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  Run run_;
  std::unique_ptr<std::byte, Free> memory_;
  SignatureCoder coder_;
};

/// Several parts, one after the other.
class PartReader {
 public:
  /// Appends a part; its bytes must stay. `name` is for messages: "group 3, part 5".
  void add(std::span<const std::byte> signature, std::span<const std::byte> payload,
           std::string name);
  void clear();

  /// Copies the next `count` scalars, of `bytes` together. Error type_mismatch, naming both types,
  /// where they are not of `code`; out_of_bounds where there are fewer; damaged. Those before the
  /// place of the error are taken.
  void read(ScalarCode code, void* data, std::uint64_t count, std::size_t bytes) {
    if (!read_within(code, data, count, bytes)) {
      read_across(code, data, count);
    }
  }
  /// The same where all of them lie in one run; otherwise false, and nothing happened.
  bool read_within(ScalarCode code, void* data, std::uint64_t count, std::size_t bytes) noexcept {
    if (code == run_.code && count <= run_.count) {
      run_.count -= count;
      switch (bytes) {
        case 4:
          std::memcpy(data, at_, 4);
          break;
        case 8:
          std::memcpy(data, at_, 8);
          break;
        default:
          std::memcpy(data, at_, bytes);
      }
      at_ += bytes;
      return true;
    }
    return false;
  }
  /// Is nothing left?
  bool at_end();

 private:
  struct Part {
    std::span<const std::byte> signature;
    std::span<const std::byte> payload;
    std::string name;
  };
  void read_across(ScalarCode code, void* data, std::uint64_t count);
  bool advance();
  [[noreturn]] void refuse(ScalarCode code) const;

  const std::byte* at_ = nullptr;
  Run run_;  ///< what is left of the run under way: all of it lies in the payload
  SignatureReader signature_;
  std::deque<Part> parts_;
  std::size_t next_part_ = 0;
  const std::byte* end_ = nullptr;
};

}  // namespace sluice::layout::records
