// The planner of .npy files: one array, all addresses computed.
//
// Invariants: element i of step s is always at header_bytes + (s * elements + i) * size; a commit
// writes data beyond the committed end and then the number of steps, nothing else.
#pragma once

#include <memory>
#include <vector>

#include "layout/commit_history.hpp"
#include "layout/layout.hpp"
#include "layout/npy/header.hpp"

namespace sluice::layout::npy {

class NpyPlanner final : public Planner {
 public:
  /// Plans a new file in the empty `file`, which must outlive the planner.
  static std::unique_ptr<NpyPlanner> create(storage::File& file);
  /// Plans further steps. Error unsupported if it is not an array of steps in C order.
  static std::unique_ptr<NpyPlanner> append(storage::File& file, const std::string& name);

  const char* format() const override { return "npy"; }
  const std::vector<model::Definition>& known() const override { return definitions_; }
  std::uint64_t steps() const override { return steps_; }
  std::uint64_t committed_end() const override { return history_.last().end; }
  void define(const model::Definition& definition) override;
  CommitPlan plan_commit(const CommitRequest& request) override;
  void drop_steps(std::uint64_t steps, std::int64_t modified_ns) override;
  void make_all() override;
  MetadataUpdate seal() override;
  void planned() override;
  void committed() override { history_.commit(); }
  void abandon() override;

 private:
  explicit NpyPlanner(storage::File& file) : file_(file) {}
  std::uint64_t end() const;
  Placement place(std::uint64_t step) const;

  storage::File& file_;
  std::vector<model::Definition> definitions_;  ///< none or one
  std::uint64_t steps_ = 0;
  bool is_placed_ = false;  ///< a fixed array: its data has been planned
  bool must_fill_ = false;  ///< a fixed array that no rank put: the next commit fills it
  bool has_header_ = false;
  /// The state after a commit, restored by abandon().
  struct Counters {
    std::uint64_t steps = 0;
    bool placed = false;
    bool has_header = false;
    std::uint64_t end = 0;
  };
  CommitHistory<Counters> history_;
};

}  // namespace sluice::layout::npy
