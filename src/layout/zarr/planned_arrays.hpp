// The arrays of a Zarr store that is being written: which there are, how each is divided into
// objects, and which objects are in the store.
//
// A step of a variable is one object, or as many shards as ranks write, along the slowest
// dimension; the index of a shard stands in front. In a rectilinear grid every chunk is an object.
//
// Invariant: the objects of a step that never came to be are known, or looked up, before the next
// one of its number, which may leave them out.
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
    /// Objects of steps that never came to be, by step; empty: they are not known.
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
  /// Adds one that is in the store. Error unsupported where nothing can be appended to it.
  void load(const Stored& stored, bool is_ours);
  /// Gives it its tiles, unless it has them.
  void make(std::uint32_t variable, const Tiling& tiling);
  void set_has_data(std::uint32_t variable) { made_.at(variable).has_data = true; }
  /// Of what make() made since the last call: nothing in them is of the store.
  std::set<std::string> take_folders_to_clear() { return std::exchange(folders_to_clear_, {}); }

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

  storage::File& file_;
  const bool whole_objects_;
  const std::uint64_t writers_;
  std::vector<model::Definition> definitions_;
  std::vector<Made> made_;
  std::set<std::string> folders_to_clear_;
};

}  // namespace sluice::layout::zarr
