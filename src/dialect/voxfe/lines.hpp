// A text file that the ranks read together: each the lines that begin in its own range of bytes.
//
// Invariants: memory holds one piece of a bounded size; every line belongs to one rank; errors name
// the number of their line, which is counted only then.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/storage.hpp"

namespace sluice::dialect::voxfe {

inline constexpr std::uint64_t piece_bytes = 4 << 20;
/// A longer line does not belong to these formats.
inline constexpr std::uint64_t longest_line = 4096;

/// The bytes [begin, end) of one rank, of a file whose lines begin at `head`.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t head = 0;

  /// The most pieces that it has.
  std::uint64_t pieces() const { return (end - begin) / piece_bytes + 1; }
};

/// The part of rank `rank` of a body that goes from `head` to `size`.
ByteRange part_of_rank(std::uint64_t head, std::uint64_t size, int rank, int ranks);

/// Throws Error format: `path:line: why`, for the line that begins at `place`.
[[noreturn]] void refuse(storage::File& file, std::uint64_t place, const std::string& why);

/// Throws Error changed_outside, for a text whose second pass finds other lines than the first.
[[noreturn]] void refuse_changed(const std::string& path);

/// Removes the next number from a line, with the blanks before it; false if there is none.
template <class T>
bool take_number(std::string_view& line, T& number) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const auto result = std::from_chars(line.data(), line.data() + line.size(), number);
  if (result.ec != std::errc{}) {
    return false;
  }
  line.remove_prefix(static_cast<std::size_t>(result.ptr - line.data()));
  return true;
}

/// Iterates over a range, in pieces of whole lines.
class Pieces {
 public:
  Pieces(storage::File& file, const ByteRange& range) : file_(file), range_(range) { begin(); }

  /// Reads the next piece: false if there is none.
  bool next();
  /// The lines of the piece, each with its end except possibly the last one of a file.
  std::string_view text() const { return lines_; }
  /// Where the piece begins in the file.
  std::uint64_t place() const { return place_; }

  /// Calls visit(line without its end, place) for each line of the piece that is not blank.
  template <class Visit>
  void each_line(const Visit& visit) const {
    std::uint64_t place = place_;
    std::string_view rest = lines_;
    while (!rest.empty()) {
      const std::size_t stop = std::min(rest.find('\n'), rest.size() - 1);
      std::string_view line = rest.substr(0, stop + 1);
      while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' ')) {
        line.remove_suffix(1);
      }
      if (!line.empty()) {
        visit(line, place);
      }
      rest.remove_prefix(stop + 1);
      place += stop + 1;
    }
  }

 private:
  void begin();

  storage::File& file_;
  ByteRange range_;
  std::uint64_t at_ = 0;
  std::uint64_t place_ = 0;
  std::string buffer_;
  std::string_view lines_;
};

}  // namespace sluice::dialect::voxfe
