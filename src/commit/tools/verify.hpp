// Verifies every byte of a file by its checksum records, on all ranks together.
//
// Invariants: nothing is written; rank 0 holds the records of one commit at a time, the others
// those of one variable of it, and every rank reads at most one record's bytes at a time; the
// findings of one rank are reported on all; lists of findings are bounded, their counts are not.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exec/transport/transport.hpp"
#include "model/bytes.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Findings beyond this number are counted, not listed.
inline constexpr std::size_t most_findings = 100;

enum class State : std::uint8_t {
  ok,
  damaged,          ///< something does not match, and only Sluice wrote to the file
  changed_outside,  ///< something does not match, and the file's mtime is not that of its last
                    ///< commit
  not_ours,         ///< HDF5 that Sluice did not write: there are no checksums
  not_readable,     ///< made for a newer library of its format, or damage that looks the same
};

/// The number of elements of a variable in one step that must have checksums.
using UnitVolumes = std::map<std::pair<std::string, std::uint64_t>, std::uint64_t>;

/// One mismatch.
struct Finding {
  static constexpr std::uint64_t no_step = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t order = 0;  ///< position in the order of the file
  std::string variable;     ///< empty: the file as a whole
  std::uint64_t step = no_step;
  std::string place;  ///< which elements, as Box::text(); may be empty
  std::string what;   ///< "does not match its checksum", ...
  int rank = -1;      ///< that wrote these elements; -1: unknown

  void write_to(model::ByteWriter& out) const;
  static Finding read_from(model::ByteReader& in);
};

struct Verdict {
  State state = State::ok;
  /// Does the mtime of the file differ from that of its last commit? Then another program wrote to
  /// it, or it is a copy. Never for an unfinished file.
  bool modified = false;
  /// Was the file being written, or left by a writer that did not close it? Then the verdict covers
  /// the steps that were committed when the verification began.
  bool unfinished = false;
  std::vector<Finding> findings;    ///< the first most_findings, in the order of the file
  std::uint64_t finding_count = 0;  ///< of all
  /// Data without checksums: added by other programs, written with checksums off, or never put. The
  /// first most_findings.
  std::vector<std::string> uncovered;
  std::uint64_t uncovered_count = 0;
  std::uint64_t records = 0;  ///< checksums compared
  std::uint64_t bytes = 0;    ///< of data, compared
  std::uint64_t commits = 0;
  std::uint64_t steps = 0;
  double seconds = 0;
};

/// Bytes checked so far by all ranks together (approximately), and in total.
using VerifyProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Collective; the same verdict on every rank. `progress` (may be empty) is called on each rank
/// after every record that it compared. Beside a writer: mismatches are checked again as long as
/// the writer changes the file meanwhile, ten times at most; damage is what matched in none of the
/// checks. A damaged or truncated file is a verdict, not an error. Errors: those of opening it
/// (not_found, permission, ...), format if it is not HDF5.
Verdict verify(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               const VerifyProgress& progress = {});
/// The same for a part of a set. `volumes`: the elements of variables with steps that the index
/// refers to, which need not be all elements of a row.
Verdict verify_part(exec::Transport& transport, storage::Storage& storage, const std::string& path,
                    const UnitVolumes& volumes, const VerifyProgress& progress);

}  // namespace sluice::commit
