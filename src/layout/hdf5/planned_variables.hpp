// The variables of a file being planned: their definitions, the datasets that hold them, and the
// addresses of their tiles.
//
// Invariant: a definition, once added, keeps its number; only what the file has of it changes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "layout/hdf5/planned_file.hpp"

namespace sluice::layout::hdf5 {

/// What the file has of a variable.
struct PlannedDataset {
  Handle handle;  ///< opened when it is first asked for
  model::Dims tile;
  std::uint64_t slot = 0;      ///< rows between steps that follow one another; 0: they are stacked
  bool is_big_endian = false;  ///< another program made it anew
  bool exists = false;
  bool is_committed = false;
};

class PlannedVariables {
 public:
  explicit PlannedVariables(PlannedFile& file) : file_(file) {}

  void add(const model::Definition& definition, PlannedDataset dataset = {});
  const std::vector<model::Definition>& definitions() const noexcept { return definitions_; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(definitions_.size()); }
  const model::Definition& definition(std::uint32_t variable) const {
    return definitions_.at(variable);
  }
  PlannedDataset& operator[](std::uint32_t variable) { return datasets_.at(variable); }
  const PlannedDataset& operator[](std::uint32_t variable) const { return datasets_.at(variable); }
  std::optional<std::uint32_t> find(const std::string& name) const;
  bool has(const std::string& name) const { return find(name).has_value(); }

  /// Notes that the file has it from here on.
  void note_made(std::uint32_t variable, const model::Dims& tile);
  hid_t dataset(std::uint32_t variable);
  void close() noexcept;
  /// Gives the dataset of a variable room for so many steps, or takes the others off it.
  void extend(std::uint32_t variable, std::uint64_t steps);

  /// The addresses of the values of a fixed variable; Error if there are some already.
  Placement place_fixed(std::uint32_t variable);
  /// Those of a step, which is the dataset's last one.
  Placement place_step(const Touched& touched, std::uint64_t step);
  /// Makes room for a step whose tiles are encoded, or for an encoded variable without steps.
  void prepare_encoded(const Touched& touched, std::uint64_t step);
  std::vector<std::uint64_t> place_encoded(std::span<const EncodedTile> tiles, std::uint64_t step);

  /// By variable.
  std::vector<bool> existing() const;
  /// `existing`: those of a commit that is in the file.
  void committed(const std::vector<bool>& existing);
  void forget_uncommitted();

 private:
  /// The chunk of a step that begins at element `start` of it.
  std::array<hsize_t, model::max_rank> chunk_at(std::uint32_t variable, std::uint64_t step,
                                                const model::Dims& start) const;

  PlannedFile& file_;
  std::vector<model::Definition> definitions_;
  std::vector<PlannedDataset> datasets_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  ///< by name
};

}  // namespace sluice::layout::hdf5
