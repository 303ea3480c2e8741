// The pattern in which a program writes a file, as `sluice plan --from` takes it.
//
// Invariants: what is noted of collective calls is what all ranks know of them, so it costs no
// message; the recorder belongs to rank 0 of the whole program, and what it keeps is bounded. FILE
// is replaced at each close; one that is no record of this program's kind is left.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "storage/storage.hpp"

namespace sluice::mpiio {

/// A collective write, of all ranks.
struct Written {
  std::int64_t bytes = 0;
  std::int64_t runs = 0;
  bool interleaves = false;  ///< do ranges of ranks overlap?
  int alignment_log2 = 0;    ///< of where each rank begins, up to 1 MiB
};

/// The largest power of two, up to 1 MiB, of which `offset` is a multiple.
int alignment_log2(std::int64_t offset);

class Pattern {
 public:
  void note(const Written& written);
  /// A sync or a close: what was written before it is a step.
  void end_step();

  /// Of a kind: runs of one length within a factor of 2, interleaved or not.
  struct Kind {
    std::int64_t calls = 0;
    std::int64_t bytes = 0;
    std::int64_t runs = 0;
    int least_alignment_log2 = 20;
  };
  struct Key {
    int run_log2 = 0;
    bool interleaves = false;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  const std::map<Key, Kind>& kinds() const { return kinds_; }
  std::int64_t steps() const { return steps_; }
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::map<Key, Kind> kinds_;
  std::int64_t steps_ = 0;
  bool is_dirty_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point burst_;  ///< where the step that is not ended began
  Clock::time_point last_;
};

/// Is SLUICE_MPIIO_RECORD set?
bool is_recording();
/// What a close tells of the file beside its pattern, of all ranks.
struct Closed {
  std::string path;
  int ranks = 0;
  double write_s = 0;  ///< of the slowest rank
  std::int64_t independent_calls = 0;
  std::int64_t independent_bytes = 0;
  std::int64_t read_bytes = 0;
};
/// Adds a file to the record, which `files` writes. For rank 0 of the file; does nothing unless
/// that is rank 0 of the whole program.
void record_file(const Closed& closed, const Pattern& pattern, storage::Storage& files);

}  // namespace sluice::mpiio
