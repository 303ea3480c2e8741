// The planner of Icechunk repositories: that of Zarr says what a step consists of; here its objects
// become files with ids, and every commit a snapshot of a branch.
//
// Invariants: no file is written twice, and none is removed, so every snapshot stays as it was; the
// ref of the branch makes a commit visible, and is replaced only where it still leads to the
// snapshot before.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout/commit_history.hpp"
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
  Refusals refusals() const override;
  Tiling tiling(std::uint32_t variable) const override { return zarr_->tiling(variable); }
  std::uint64_t steps() const override { return zarr_->steps(); }
  std::uint64_t committed_end() const override { return file_.size(); }
  void define(const model::Definition& definition) override;
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
    std::vector<std::byte> ref;  ///< of the branch; empty: there is none yet
    bool is_there = false;       ///< the repository
  };

  IcechunkPlanner(storage::File& file, const PlannerOptions& options);
  /// Is it an array whose chunks are written again and again?
  History::ReadRefs read_refs();
  storage::Segment in_file(storage::Segment object);
  void take_chunk(const std::string& object, const ObjectId& id, std::uint64_t bytes);
  void take_documents(const MetadataUpdate& sealed);
  std::string tag_of(std::uint64_t step) const;
  bool has_tag(const std::string& tag);
  void find_untagged();
  void take_tag(const CommitRequest& request);
  void begin(MetadataUpdate& update, std::uint64_t written_us);

  storage::File& file_;
  const PlannerOptions options_;
  std::optional<View> view_;  ///< of an existing repository
  std::unique_ptr<zarr::ZarrPlanner> zarr_;
  State state_;  ///< with the commit under way
  CommitHistory<State> history_;
  std::map<std::string, ObjectId> ids_;  ///< of the objects of the commit under way
  std::string message_;
  std::string tag_;    ///< of the commit under way
  Document untagged_;  ///< the tag of a step after which a run ended before it had its tag
  std::int64_t modified_ns_ = 0;
};

}  // namespace sluice::layout::icechunk
