// The planner of plain HDF5 files: asks serial libhdf5, through the planner driver, for addresses.
// Each part of a commit has a class, which is given the ones that it needs and does not know the
// planner.
//
// Invariants: all additions to the file go through one PlannedFile; abandon() takes the file and
// every part back to the last committed() state, but for steps that were dropped.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "layout/hdf5/commit_log.hpp"
#include "layout/hdf5/dataset_maker.hpp"
#include "layout/hdf5/grouped_steps.hpp"
#include "layout/hdf5/known_contents.hpp"
#include "layout/hdf5/planned_attributes.hpp"
#include "layout/hdf5/planned_dimensions.hpp"
#include "layout/hdf5/planned_file.hpp"
#include "layout/hdf5/planned_variables.hpp"
#include "layout/hdf5/scales.hpp"
#include "layout/hdf5/vtkhdf_steps.hpp"

namespace sluice::layout::hdf5 {

class Catalog;

class Hdf5Planner final : public Planner {
 public:
  /// Plans a new file in the empty `file`, which must outlive the planner.
  static std::unique_ptr<Hdf5Planner> create(storage::File& file, const PlannerOptions& options,
                                             Profile profile = Profile::stacked);
  /// Plans additions to a file that Sluice wrote. Its variables are known() from the start.
  static std::unique_ptr<Hdf5Planner> append(storage::File& file, const PlannerOptions& options);
  ~Hdf5Planner() override;

  const char* format() const override { return profile_name(file_.profile()); }
  const std::vector<model::Definition>& known() const override { return variables_.definitions(); }
  Tiling tiling(std::uint32_t variable) const override { return variables_[variable].tile; }
  std::uint64_t steps() const override { return steps_; }
  std::uint64_t committed_end() const override { return file_.frontier(); }
  void define(const model::Definition& definition) override { variables_.add(definition); }
  void set_attribute(const model::Attribute& attribute) override { attributes_.set(attribute); }
  CommitPlan plan_commit(const CommitRequest& request) override;
  void drop_steps(std::uint64_t steps, std::int64_t modified_ns) override;
  std::vector<std::uint64_t> place_encoded(std::span<const EncodedTile> tiles) override;
  void make_all() override;
  MetadataUpdate seal() override;
  void planned() override;
  void committed() override;
  void abandon() override;

 private:
  Hdf5Planner(storage::File& file, const PlannerOptions& options, Profile profile);
  void open_new();
  void open_existing();
  void load(Catalog& catalog);
  void close() noexcept;
  /// Before a commit is planned.
  void renew();

  /// Creates a variable in the file. `places_now`: its values come with this commit.
  void make(std::uint32_t variable, const model::Dims& tile, bool places_now);
  void log_added_steps(std::int64_t modified_ns);
  void make_touched(const CommitRequest& request);
  /// The first commit of a new file may be like that of another: then nothing is read back.
  Contents contents();
  FirstCommit first_commit() const;

  /// The state after a commit, restored by abandon().
  struct Counters {
    std::uint64_t steps = 0;
    std::uint64_t logged_steps = 0;
    CommitLog::Counters log = {};
    bool has_time = false;
    std::size_t inherited = 0;
    std::uint64_t frontier = 0;
  };
  struct UnderWay {
    Counters counters;
    std::vector<bool> existing;             ///< by variable
    std::vector<model::Attribute> applied;  ///< by this commit
  };
  Counters counters() const;

  PlannedFile file_;
  PlannedVariables variables_;
  PlannedAttributes attributes_;
  Scales scales_;
  CommitLog log_;
  GroupedSteps grouped_;
  VtkhdfSteps vtkhdf_;
  DatasetMaker datasets_;
  PlannedDimensions dimensions_;
  bool on_disk_ = false;  ///< has anything been committed?
  std::uint64_t steps_ = 0;
  std::uint64_t logged_steps_ = 0;   ///< with a row in the log
  std::uint64_t first_added_ = 0;    ///< of the steps that another program added before
  std::vector<double> added_times_;  ///< of those
  std::uint64_t planned_step_ = 0;   ///< that of the commit being planned
  Counters committed_;
  std::deque<UnderWay> under_way_;  ///< one for each that file_ has under way
};

}  // namespace sluice::layout::hdf5
