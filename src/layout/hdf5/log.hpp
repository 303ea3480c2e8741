// What Sluice keeps about a file inside it, in the group /sluice: one row a commit, and the words
// of the checksum records. Other tools may ignore the group.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace sluice::layout::hdf5 {

/// Version of /sluice. A reader refuses a newer major; a newer minor only adds.
inline constexpr int format_major = 1;
inline constexpr int format_minor = 0;

inline constexpr const char* group_name = "sluice";
inline constexpr const char* commits_name = "sluice/commits";
inline constexpr const char* checksums_name = "sluice/checksums";
inline constexpr const char* time_name = "time";

/// One row of /sluice/commits, 8 words of 64 bits.
struct CommitRow {
  static constexpr std::uint64_t no_step = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t words = 8;

  std::uint64_t step = no_step;
  double time = 0;
  std::uint64_t first_word = 0;  ///< of this commit's checksum words
  std::uint64_t word_count = 0;
  std::int64_t modified_ns = 0;  ///< mtime that the file was given

  std::array<std::uint64_t, words> pack() const {
    return {step, std::bit_cast<std::uint64_t>(time), first_word, word_count,
            static_cast<std::uint64_t>(modified_ns)};
  }
  static CommitRow unpack(const std::uint64_t* row) {
    return {row[0], std::bit_cast<double>(row[1]), row[2], row[3],
            static_cast<std::int64_t>(row[4])};
  }
};

}  // namespace sluice::layout::hdf5
