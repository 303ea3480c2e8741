// The signature of a part: the types of its scalars, in order. Run-length coded twice: consecutive
// equal scalars are a run, and runs that recur are a repeat, so that a loop over a million
// particles takes some twenty bytes.
//
// Invariants: coder and reader keep the same window of the last runs; a repeat refers back within
// it; both take constant memory, whatever the length of the part. docs/formats/records.md has the
// grammar.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::layout::records {

/// The type of a scalar: the numbers of sluice_type in sluice.h, and beyond them types that
/// compilers have but Sluice's arrays do not.
using ScalarCode = std::uint32_t;
inline constexpr ScalarCode int128_code = 64;
inline constexpr ScalarCode float80_code = 65;   ///< x87's 10 bytes, padded to 16
inline constexpr ScalarCode float128_code = 66;  ///< IEEE binary128
inline constexpr ScalarCode complex160_code = 67;
inline constexpr ScalarCode complex256_code = 68;

/// Size of one scalar; 0 for an invalid code.
std::uint32_t scalar_bytes(ScalarCode code) noexcept;
/// "float64", "string[8]"; "type 99" for an invalid code.
std::string scalar_name(ScalarCode code);

/// A number of scalars of one type.
struct Run {
  ScalarCode code = 0;
  std::uint64_t count = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

/// The last runs. A power of two; longer loop bodies are coded correctly, but not compactly.
inline constexpr std::uint64_t window_runs = 1024;

/// The current repeat: the runs that began `distance` runs ago, once more. As in
/// sluice/records_inline.h.
struct Repeat {
  std::uint64_t runs = 0;      ///< total
  std::uint64_t distance = 0;  ///< 0: none
  std::uint64_t length = 0;
  std::array<Run, window_runs> window{};

  /// Accepts the run and returns true if it continues the repeat.
  bool goes_on(const Run& run) noexcept {
    if (distance == 0 || window[(runs - distance) % window_runs] != run) {
      return false;
    }
    window[runs % window_runs] = run;
    ++runs;
    ++length;
    return true;
  }
};

class SignatureCoder {
 public:
  Repeat& repeat() noexcept { return repeat_; }
  void add(const Run& run) {
    if (!repeat_.goes_on(run)) {
      search(run);
    }
  }
  /// The bytes of what was added; nothing can be added before restart().
  const std::vector<std::byte>& finish();
  void restart();

 private:
  void search(const Run& run);
  void close_repeat();
  std::uint64_t matching_before(std::uint64_t distance) const;

  Repeat repeat_;
  std::vector<std::byte> text_;
};

class SignatureReader {
 public:
  SignatureReader() = default;
  /// `text` must outlive the reader.
  explicit SignatureReader(std::span<const std::byte> text) : text_(text) {}
  /// The next run; false at the end. Error damaged if the bytes are invalid.
  bool next(Run& run);

 private:
  std::uint64_t number();

  std::span<const std::byte> text_;
  std::size_t at_ = 0;
  std::vector<Run> window_;
  std::uint64_t runs_ = 0;
  std::uint64_t distance_ = 0;
  std::uint64_t left_ = 0;  ///< of the current repeat
};

}  // namespace sluice::layout::records
