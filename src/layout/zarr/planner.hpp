// The planner of Zarr stores: which object a chunk goes into, and where in it.
//
// The objects are those of PlannedArrays. The index of a shard stands in front, so that the place
// of every chunk is known beforehand.
//
// Invariants: an address is never given out twice in the life of a planner, so that no rank takes
// an old object for a new one; a commit writes objects of its own only, and the manifest makes them
// visible; the objects of a step that never came to be are removed before the next one of its
// number, which may leave them out. What a step costs grows with its own rows, not with the most
// that a step may have.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layout/commit_history.hpp"
#include "layout/layout.hpp"
#include "layout/zarr/commit_rows.hpp"
#include "layout/zarr/manifest.hpp"
#include "layout/zarr/planned_arrays.hpp"

namespace sluice::layout::zarr {

/// Of Format::most_tile_bytes, here and in formats that hold such a store.
inline constexpr std::uint64_t most_tile_bytes = 16ULL << 20;

/// Size: It answers all questions of a Planner.
class ZarrPlanner final : public Planner {
 public:
  /// Plans a new store in `file`, which has no manifest yet and must outlive the planner.
  static std::unique_ptr<ZarrPlanner> create(storage::File& file, const PlannerOptions& options);
  /// Plans further steps of a store that Sluice wrote. Error unsupported for others.
  static std::unique_ptr<ZarrPlanner> append(storage::File& file, const PlannerOptions& options);

  const char* format() const override { return "zarr"; }
  const std::vector<model::Definition>& known() const override { return arrays_.definitions(); }
  Refusals refusals() const override;
  Tiling tiling(std::uint32_t variable) const override { return arrays_.made(variable).tiling; }
  std::uint64_t steps() const override { return state_.steps; }
  std::uint64_t committed_end() const override { return file_.size(); }
  void define(const model::Definition& definition) override;
  void set_attribute(const model::Attribute& attribute) override;
  CommitPlan plan_commit(const CommitRequest& request) override;
  void drop_steps(std::uint64_t steps, std::int64_t modified_ns) override;
  std::vector<std::uint64_t> place_encoded(std::span<const EncodedTile> tiles) override;
  /// With the next commit, behind what it touches, whose tiles it knows.
  void make_all() override { makes_all_ = true; }
  MetadataUpdate seal() override;
  void planned() override;
  void committed() override { history_.commit(); }
  void abandon() override;
  /// Objects of the commit under way and their sizes, once all encoded tiles have their places;
  /// those of which nothing is written are left out.
  std::vector<std::pair<std::string, std::uint64_t>> object_sizes() const;

 private:
  /// What a commit changes, and abandon() brings back.
  struct State {
    std::uint64_t steps = 0;
    std::uint64_t checksum_chunk_words = 0;
    std::uint64_t checksum_chunks = 0;
    bool has_time = false;
    CommitRows::Sizes rows;
    PlannedArrays::State arrays;
  };
  /// An object of the commit under way.
  struct Shard {
    storage::Segment segment;
    std::uint64_t next = 0;  ///< of encoded ones: where the next tile goes
    std::vector<IndexEntry> index;
  };
  struct Planned {
    std::uint32_t variable = 0;
    bool encoded = false;
    model::Dims shape;  ///< of the step, which may have fewer rows
    std::uint64_t tiles = 0;
    std::vector<Shard> shards;
  };

  ZarrPlanner(storage::File& file, const PlannerOptions& options);
  void load();
  void add_fill_attribute(const model::Definition& definition);
  State state() const;
  std::uint64_t take(std::uint64_t bytes);
  void make_untouched();
  bool is_time_free();
  Planned plan_shards(const Touched& touched, std::uint64_t step);
  Placement place(const Planned& planned) const;
  Placement place_checksums(std::uint64_t words, CommitRow& row);
  /// Null where the commit under way does not touch it.
  std::vector<Planned*> planned_by_variable();
  void forget_untouched(std::uint64_t step, std::vector<storage::Segment>& objects);
  Manifest manifest() const;

  storage::File& file_;
  PlannerOptions options_;
  std::uint64_t next_address_ = 0;
  PlannedArrays arrays_;
  std::vector<model::Attribute> attributes_;
  State state_;  ///< with the commit under way
  CommitHistory<State> history_;
  CommitRows rows_;
  std::vector<Planned> planned_;
  std::vector<storage::Segment> objects_;  ///< of the commit under way
  bool makes_all_ = false;
  std::optional<bool> is_time_free_;  ///< of other programs; nothing: not looked up
  Documents written_;                 ///< as they are in the store, or on their way
  Kept kept_;                         ///< what another program put into the store
  Documents untouched_;               ///< of its nodes
};

}  // namespace sluice::layout::zarr
