// The arrays of a Zarr store that is being written: which there are, how each is divided into
// objects, and which objects are in the store.
//
// A step of a variable is one object, or as many shards as ranks write, along the slowest
// dimension; the index of a shard stands in front. In a rectilinear grid every chunk is an object.
//
// Invariants: the objects of a step that never came to be are known, or looked up, before the next
// one of its number, which may leave them out. Where an array is made, nothing is removed but
// objects with names as Sluice gives them, and no node of another program is written over, listed
// by the root or not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "layout/layout.hpp"
#include "layout/zarr/manifest.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::zarr {

class PlannedArrays {
 public:
  struct Made {
    Tiling tiling;
    std::uint64_t shard_rows = 0;  ///< of tiles; 0: every tile is an object of its own
    bool exists = false;
    bool has_data = false;  ///< fixed: it cannot be written again
    bool is_ours = true;    ///< else another program made it, and nothing is written to it
    /// Objects of steps that never came to be, by step; nothing: they are not known.
    std::optional<std::map<std::uint64_t, std::vector<std::string>>> left;
  };
  /// What a commit changes, by variable.
  struct State {
    std::vector<bool> exists;
    std::vector<bool> has_data;
  };

  PlannedArrays(storage::File& file, const PlannerOptions& options)
      : file_(file), whole_objects_(options.whole_objects), writers_(options.writers) {}

  const std::vector<model::Definition>& definitions() const noexcept { return definitions_; }
  const Made& made(std::uint32_t variable) const { return made_.at(variable); }
  void add(const model::Definition& definition);
  /// The store was there before: what lies in the folders of arrays to be made is not known.
  void note_earlier() noexcept { has_earlier_ = true; }
  /// The document of this node is Sluice's, or listed by the root.
  void note_node(const std::string& node) { known_nodes_.insert(node); }
  /// Adds one that is in the store. Error unsupported where nothing can be appended to it.
  void load(const Stored& stored, bool is_ours);
  /// Gives it its tiles, unless it has them. Error exists where another program has a node there.
  void make(std::uint32_t variable, const Tiling& tiling);
  void set_has_data(std::uint32_t variable) { made_.at(variable).has_data = true; }
  /// Has another program made a node that the root does not list?
  bool is_hidden(const std::string& node);
  /// The objects in the folders of what make() made since the last call: they belong to no commit.
  std::vector<std::string> take_uncommitted() { return std::exchange(uncommitted_, {}); }

  /// The document of an array, in a store of so many steps.
  Array array_of(std::uint32_t variable, std::uint64_t steps) const;
  std::uint64_t tiles_of(std::uint32_t variable) const;
  std::uint64_t tiles_in_shard(std::uint32_t variable) const;
  std::uint64_t shards_of(std::uint32_t variable) const;
  std::string object_of(std::uint32_t variable, std::uint64_t shard, std::uint64_t step) const;
  /// The objects of step `step`, which is not committed yet, that are in the store: they belong to
  /// no commit. Each is returned once.
  std::vector<std::string> left_of(std::uint32_t variable, std::uint64_t step);
  /// Steps were dropped: their objects belong to no commit.
  void forget_left();

  State state() const;
  /// Takes back what was made and written after `state`.
  void restore(const State& state);

 private:
  void find_data(std::uint32_t variable);
  void require_place(const std::string& name);
  /// The objects in the folder of a variable by their step, or first index, from `first` on.
  std::map<std::uint64_t, std::vector<std::string>> objects_from(std::uint32_t variable,
                                                                 std::uint64_t first);

  storage::File& file_;
  const bool whole_objects_;
  const std::uint64_t writers_;
  std::vector<model::Definition> definitions_;
  std::vector<Made> made_;
  std::set<std::string> known_nodes_;
  std::vector<std::string> uncommitted_;
  bool has_earlier_ = false;
};

}  // namespace sluice::layout::zarr
