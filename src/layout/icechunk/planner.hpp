// The planner of Icechunk repositories: that of Zarr says what a step consists of; here its objects
// become files with ids, and every commit a snapshot of the main branch.
//
// Invariants: no file is written twice, and none is removed, so every snapshot stays as it was; the
// ref of the branch makes a commit visible, and is replaced only where it still leads to the
// snapshot before.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout/icechunk/history.hpp"
#include "layout/icechunk/view.hpp"
#include "layout/zarr/planner.hpp"

namespace sluice::layout::icechunk {

class IcechunkPlanner final : public Planner {
 public:
  /// Plans a new repository in `file`, which must outlive the planner.
  static std::unique_ptr<IcechunkPlanner> create(storage::File& file,
                                                 const PlannerOptions& options);
  /// Plans further snapshots. Error unsupported where Sluice did not write what is there.
  static std::unique_ptr<IcechunkPlanner> append(storage::File& file,
                                                 const PlannerOptions& options);

  const char* format() const override { return "icechunk"; }
  const std::vector<model::Definition>& known() const override { return zarr_->known(); }
  Tiling tiling(std::uint32_t variable) const override { return zarr_->tiling(variable); }
  std::uint64_t steps() const override { return zarr_->steps(); }
  std::uint64_t committed_end() const override { return file_.size(); }
  void define(const model::Definition& definition) override { zarr_->define(definition); }
  void set_attribute(const model::Attribute& attribute) override {
    zarr_->set_attribute(attribute);
  }
  CommitPlan plan_commit(const CommitRequest& request) override;
  void drop_steps(std::uint64_t steps, std::int64_t modified_ns) override;
  std::vector<std::uint64_t> place_encoded(std::span<const EncodedTile> tiles) override {
    return zarr_->place_encoded(tiles);
  }
  void make_all() override { zarr_->make_all(); }
  MetadataUpdate seal() override;
  void planned() override;
  void committed() override;
  void abandon() override;

 private:
  /// What a commit changes, and abandon() brings back.
  struct State {
    History history;
    std::vector<std::byte> ref;  ///< empty: there is none yet
  };

  explicit IcechunkPlanner(storage::File& file) : file_(file) {}
  /// Is it an array whose chunks are written again and again?
  static bool rewrites(const std::string& node);
  storage::Segment in_file(storage::Segment object);
  void take_chunk(const std::string& object, const ObjectId& id, std::uint64_t bytes);
  void take_documents(const MetadataUpdate& sealed);

  storage::File& file_;
  std::optional<View> view_;  ///< of an existing repository
  std::unique_ptr<zarr::ZarrPlanner> zarr_;
  State state_;      ///< with the commit under way
  State committed_;  ///< in the repository
  std::deque<State> under_way_;
  std::map<std::string, ObjectId> ids_;  ///< of the objects of the commit under way
  std::string message_;
  std::int64_t modified_ns_ = 0;
};

}  // namespace sluice::layout::icechunk
