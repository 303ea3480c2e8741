// Reads Sluice's own data in a file that is open: the log of commits, the contents as of the last
// one, and the words of the checksum records.
//
// Invariants: no number in the log is used as a size before it was compared with the length of the
// file. Steps are consecutive. Where the file is no file of Sluice, every member has the value that
// it has here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/hdf5/log.hpp"
#include "layout/hdf5/profile.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// What the log says about the file as a whole.
struct Log {
  bool is_there = false;  ///< did Sluice write the file?
  bool is_part = false;   ///< of a set
  Profile profile = Profile::stacked;
  std::uint64_t steps = 0;
  std::vector<std::uint64_t> step_numbers;  ///< openPMD: the iteration of each step
  /// No if another program's copy has it in a form that cannot grow as Sluice needs.
  bool is_growable = true;
  std::uint64_t checksum_chunk_words = 0;
  std::uint64_t checksum_chunks = 0;

  /// Where each step has a group: its path.
  std::string group_of(std::uint64_t step) const;
};

struct LogContent {
  Log log;
  Contents recorded;  ///< by the last commit
  std::vector<CommitRow> commits;
};

/// Error version if /sluice has a newer major or an unknown layout; format or damaged if it is not
/// as Sluice writes it.
LogContent read_log(hid_t file, storage::File& holder);

/// The checksum words of one commit. Error damaged if the file cannot have them.
std::vector<std::uint64_t> read_checksum_words(hid_t file, storage::File& holder, const Log& log,
                                               const CommitRow& commit);

}  // namespace sluice::layout::hdf5
