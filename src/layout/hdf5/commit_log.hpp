// The library's own group /sluice in a file being planned: a row for each commit, and the words of
// the checksum records (layout/hdf5/log).
//
// Invariants: a commit rewrites at most one chunk of rows in place (but one that drops steps, all);
// words of checksums are only added, in chunks that no earlier commit has used.
#pragma once

#include <cstdint>

#include "layout/hdf5/log.hpp"
#include "layout/hdf5/planned_file.hpp"
#include "layout/hdf5/scales.hpp"

namespace sluice::layout::hdf5 {

class CommitLog {
 public:
  /// What is in the group.
  struct Counters {
    std::uint64_t rows = 0;
    std::uint64_t checksum_chunks = 0;
    std::uint64_t checksum_chunk_words = 0;  ///< 0: there are no checksums yet
  };

  /// `scales`: those of the file. In netCDF-4 the library's own datasets have some, too.
  CommitLog(PlannedFile& file, Scales& scales) : file_(file), scales_(scales) {}

  /// Makes the group in a new file.
  void make();
  void close() noexcept;
  const Counters& counters() const noexcept { return counters_; }
  /// Of a closed log: `counters` are what the file has that is opened next.
  void restore(const Counters& counters) { counters_ = counters; }

  void append(const CommitRow& row);
  /// Drops the rows of steps from number `steps` on. Rows of commits outside steps stay: fixed
  /// variables have their checksums there.
  void drop_steps(std::uint64_t steps);
  /// Adds so many words; `row` is told where they are.
  Placement place_checksums(std::uint64_t words, CommitRow& row);

 private:
  void make_commits();
  void make_checksums();
  hid_t commits() { return file_.opened(commits_, commits_name, 2); }

  PlannedFile& file_;
  Scales& scales_;
  Handle commits_;
  Handle checksums_;
  Counters counters_;
};

}  // namespace sluice::layout::hdf5
