// The planner of files of format `records`: every commit appends its data and an entry, nothing
// else.
//
// Invariants: space is allocated at increasing addresses, from the end of the last commit on; the
// metadata of a commit is one entry beyond all data and the root, so that no journal is needed.
#pragma once

#include <memory>
#include <vector>

#include "layout/appending_planner.hpp"
#include "layout/records/log.hpp"

namespace sluice::layout::records {

/// The state after a commit, restored by abandon().
struct RecordsState {
  Root root;
  std::uint64_t end = header_bytes;
  std::uint64_t steps = 0;
  std::size_t definitions = 0;       ///< of those known, in entries
  std::size_t attributes = 0;        ///< of those set
  std::vector<bool> fixed_is_there;  ///< by variable
};

class RecordsPlanner final : public AppendingPlanner<RecordsState> {
 public:
  /// Plans a new file in the empty `file`, which must outlive the planner.
  static std::unique_ptr<RecordsPlanner> create(storage::File& file, const PlannerOptions& options);
  /// Plans further commits of an existing file.
  static std::unique_ptr<RecordsPlanner> append(storage::File& file, const PlannerOptions& options);

  const char* format() const override { return "records"; }
  void define(const model::Definition& definition) override;
  void set_attribute(const model::Attribute& attribute) override;
  CommitPlan plan_commit(const CommitRequest& request) override;
  void drop_steps(std::uint64_t steps, std::int64_t modified_ns) override;
  MetadataUpdate seal() override;
  void abandon() override;

 private:
  RecordsPlanner(storage::File& file, const PlannerOptions& options)
      : AppendingPlanner(file, options) {}
  Placement place(const Touched& touched);

  std::vector<model::Attribute> attributes_;  ///< set since the file was opened
  Entry entry_;                               ///< of the commit being planned
};

}  // namespace sluice::layout::records
