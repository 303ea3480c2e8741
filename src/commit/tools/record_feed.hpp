// The checksum records of a file in its own order, commit by commit, for verify(). On rank 0.
//
// Invariants: holds the records of one commit; a record that a later commit of the same step or
// fixed variable replaced is skipped; invalid records (outside their variable, larger than a
// portion) become findings and are not returned; beside a writer it returns the commits that
// existed when it began, using the catalog of a later one if necessary.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "commit/read/input.hpp"
#include "commit/read/records.hpp"
#include "commit/tools/findings.hpp"
#include "layout/catalog.hpp"

namespace sluice::commit {

/// A row of the log of commits does not match its checksum.
Finding damaged_row(std::uint64_t order, std::size_t row);

/// The records of one variable in one commit, and the location of its elements.
struct RecordUnit {
  std::uint32_t variable = 0;
  std::uint64_t step = 0;         ///< Finding::no_step for fixed variables
  std::uint64_t first_order = 0;  ///< of the first record; the others follow
  layout::EncodedTiles tiles;     ///< without sizes where nothing is encoded; empty for variables
                                  ///< that only libhdf5 can decode
  /// Are there elements that no rank put, and that must have the fill value? Those of the tiles
  /// that the file holds can be compared with it.
  bool has_holes = false;
  std::vector<Record> records;

  void write_to(model::ByteWriter& out) const;
  static RecordUnit read_from(model::ByteReader& in);
};

/// Variables, each of one step or Finding::no_step.
using UnitNames = std::set<std::pair<std::string, std::uint64_t>>;

/// Size: One variable is read by units, and every counter of a unit is a field.
class RecordFeed {
 public:
  /// Scans all commits once; later ones are ignored. `input` and `only` must outlive the feed.
  /// Returns the units named in `only`, all if it is nullptr. `volumes` (of a part; may be nullptr)
  /// must outlive it too.
  RecordFeed(Input& input, const std::string& path, const UnitNames* only = nullptr,
             const UnitVolumes* volumes = nullptr);

  /// The next unit; false if there are no more.
  bool next(RecordUnit& unit);

  std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  const Findings& findings() const noexcept { return findings_; }
  const std::vector<std::string>& uncovered() const noexcept { return uncovered_; }
  std::uint64_t uncovered_count() const noexcept { return uncovered_count_; }

 private:
  using Records = std::multimap<std::uint64_t, Record>;

  bool load(std::size_t commit, Records& records);
  void survey();
  void check_times();
  void list_added_steps();
  void check_contents();
  void check_rows();
  /// Does the file contain data of it? It has none if it was only defined so far.
  bool is_written(std::uint32_t variable);
  void list_uncovered();
  void add_uncovered(const std::string& what);
  bool is_current(std::uint32_t variable, std::size_t commit) const;
  void enter_commit();
  void check_strangers();
  void take(std::uint32_t variable, RecordUnit& unit);
  void check_coverage(const RecordUnit& unit, std::uint64_t covered);
  /// Sets has_holes of a unit of which `covered` elements have checksums, or names those that
  /// cannot be compared with the fill value.
  void look_for_holes(RecordUnit& unit, std::uint64_t covered);
  /// The number of elements that must have checksums, and the number that may.
  std::pair<std::uint64_t, std::uint64_t> due_elements(const RecordUnit& unit) const;
  bool holds_data(const RecordUnit& unit) const;
  void find(const RecordUnit& unit, const std::string& place, const std::string& what);

  /// The shape of the step that a unit is of.
  model::Dims shape_of(const RecordUnit& unit) const;
  /// A variable of the current commit.
  std::uint64_t step_of(std::uint32_t variable) const;
  bool is_wanted(std::uint32_t variable) const;

  layout::Catalog& catalog() const { return input_.catalog(); }
  /// The result of `work`; if it fails because the writer continued, with the newer catalog.
  template <class Work>
  auto steady(Work&& work);

  Input& input_;
  const std::size_t commit_count_;
  const std::uint64_t steps_;
  int follows_left_;
  const UnitNames* only_;
  const UnitVolumes* volumes_;
  std::vector<std::vector<std::uint64_t>> rows_;  ///< a variable: varying ones' rows by step
  std::string path_;
  std::map<std::uint64_t, std::uint32_t> by_hash_;  ///< variables by name hash
  std::vector<bool> has_records_;                   ///< a variable: in any commit?
  std::vector<std::size_t> owner_of_fixed_;         ///< a variable: its last commit
  std::vector<std::size_t> owner_of_step_;          ///< a step: its last commit
  std::set<std::uint64_t> strangers_;  ///< hashes of missing variables that were reported already
  std::uint64_t total_bytes_ = 0;
  std::uint64_t order_ = 0;
  Findings findings_;
  std::vector<std::string> uncovered_;
  std::uint64_t uncovered_count_ = 0;

  std::size_t commit_ = 0;
  bool is_entered_ = false;
  Records records_;
  std::vector<std::uint32_t> waiting_;  ///< variables of this commit, the next one last
};

}  // namespace sluice::commit
