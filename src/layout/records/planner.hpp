// The planner of files of format `records`: every commit appends its data and an entry, nothing
// else.
//
// Invariants: space is handed out upwards, from the end of the last commit on; the metadata of a
// commit is one entry beyond all data and the root, so that no journal is needed.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "layout/layout.hpp"
#include "layout/records/log.hpp"

namespace sluice::layout::records {

class RecordsPlanner final : public Planner {
 public:
  /// Plans a new file in the empty `file`, which must outlive the planner.
  static std::unique_ptr<RecordsPlanner> create(storage::File& file, const PlannerOptions& options);
  /// Plans further commits of a file that is there.
  static std::unique_ptr<RecordsPlanner> append(storage::File& file, const PlannerOptions& options);

  const char* format() const override { return "records"; }
  const std::vector<model::Definition>& known() const override { return definitions_; }
  const model::Dims& tile(std::uint32_t variable) const override {
    return definitions_.at(variable).shape;
  }
  std::uint64_t steps() const override { return state_.steps; }
  std::uint64_t committed_end() const override {
    return under_way_.empty() ? committed_.end : under_way_.back().end;
  }
  void define(const model::Definition& definition) override;
  void set_attribute(const model::Attribute& attribute) override;
  CommitPlan plan_commit(const CommitRequest& request) override;
  void drop_steps(std::uint64_t steps, std::int64_t modified_ns) override;
  void make_all() override {}  // an entry lists all that are defined
  MetadataUpdate seal() override;
  void planned() override;
  void committed() override;
  void abandon() override;

 private:
  RecordsPlanner(storage::File& file, const PlannerOptions& options)
      : file_(file), options_(options) {}
  std::uint64_t take(std::uint64_t bytes);
  Placement place(const Touched& touched);

  storage::File& file_;
  PlannerOptions options_;
  std::vector<model::Definition> definitions_;
  std::vector<model::Attribute> attributes_;  ///< set since the file was opened

  /// What a commit leaves, and abandon() comes back to.
  struct State {
    Root root;
    std::uint64_t end = header_bytes;
    std::uint64_t steps = 0;
    std::size_t definitions = 0;       ///< of definitions_, in entries
    std::size_t attributes = 0;        ///< of attributes_
    std::vector<bool> fixed_is_there;  ///< by variable
  };
  State state_;
  State committed_;
  std::deque<State> under_way_;
  Entry entry_;  ///< of the commit being planned
};

}  // namespace sluice::layout::records
