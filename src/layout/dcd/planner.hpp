// The planner of DCD trajectories: positions and cells, frame by frame, at computed addresses.
//
// Invariants: the header is written by the first commit and is not changed afterwards; a commit
// writes frames beyond the committed end, with their record markers, and then the numbers of frames
// and steps, nothing else.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "layout/commit_history.hpp"
#include "layout/dcd/header.hpp"
#include "layout/layout.hpp"

namespace sluice::layout::dcd {

class DcdPlanner final : public Planner {
 public:
  /// Plans a new file in the empty `file`, which must outlive the planner.
  static std::unique_ptr<DcdPlanner> create(storage::File& file);
  /// Plans further frames. Error unsupported for variants that can only be read.
  static std::unique_ptr<DcdPlanner> append(storage::File& file);

  const char* format() const override { return "dcd"; }
  const std::vector<model::Definition>& known() const override { return definitions_; }
  Tiling tiling(std::uint32_t variable) const override { return definitions_.at(variable).chunk; }
  std::uint64_t steps() const override { return steps_; }
  std::uint64_t committed_end() const override { return history_.last().end; }
  void define(const model::Definition& definition) override;
  void set_attribute(const model::Attribute& attribute) override;
  CommitPlan plan_commit(const CommitRequest& request) override;
  void drop_steps(std::uint64_t steps, std::int64_t modified_ns) override;
  MetadataUpdate seal() override;
  void planned() override;
  void committed() override { history_.commit(); }
  void abandon() override;

 private:
  explicit DcdPlanner(storage::File& file);
  void add(const model::Definition& definition);
  void set_words(const std::vector<std::int32_t>& words);
  void finish_header();
  void put_markers(std::uint64_t frame, MetadataUpdate& update) const;
  Placement place(std::uint32_t variable, std::uint64_t frame) const;

  storage::File& file_;
  Header header_;
  std::optional<double> timestep_;              ///< as set; the other words say how it is stored
  std::int64_t step_before_ = 0;                ///< NSTEP if there were no frames
  std::vector<model::Definition> definitions_;  ///< with their tiles as `chunk`
  std::uint64_t steps_ = 0;
  /// The state after a commit, restored by abandon().
  struct Counters {
    std::uint64_t steps = 0;
    bool has_header = false;
    std::uint64_t end = 0;
  };
  CommitHistory<Counters> history_;
};

}  // namespace sluice::layout::dcd
