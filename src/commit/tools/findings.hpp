// What a verification found: the verdict, and the first mismatches with their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/bytes.hpp"

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

/// Keeps the first most_findings and counts all.
class Findings {
 public:
  Findings() = default;
  /// Those of a verdict.
  Findings(std::vector<Finding> list, std::uint64_t count)
      : list_(std::move(list)), count_(count) {}

  void add(Finding finding);
  /// Adds those of another rank or part. Then the list is in the order of the file.
  void merge(const Findings& other);
  const std::vector<Finding>& list() const noexcept { return list_; }
  std::uint64_t count() const noexcept { return count_; }

  void write_to(model::ByteWriter& out) const;
  static Findings read_from(model::ByteReader& in);

 private:
  std::vector<Finding> list_;
  std::uint64_t count_ = 0;
};

}  // namespace sluice::commit
