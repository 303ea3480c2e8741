#include "layout/hdf5/planned_variables.hpp"

#include <algorithm>
#include <utility>

#include "layout/hdf5/datasets.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

void PlannedVariables::add(const model::Definition& definition, PlannedDataset dataset) {
  numbers_.emplace(definition.name, size());
  definitions_.push_back(definition);
  datasets_.push_back(std::move(dataset));
}

std::optional<std::uint32_t> PlannedVariables::find(const std::string& name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

void PlannedVariables::note_made(std::uint32_t variable, const Dims& tile) {
  file_.note_new_contents();
  datasets_.at(variable).tile = tile;
  datasets_.at(variable).exists = true;
}

hid_t PlannedVariables::dataset(std::uint32_t variable) {
  Handle& handle = datasets_.at(variable).handle;
  if (!handle) {
    const std::string& name = definition(variable).name;
    handle = own(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), name);
  }
  return handle.get();
}

void PlannedVariables::close() noexcept {
  for (PlannedDataset& dataset : datasets_) {
    dataset.handle.reset();
  }
}

void PlannedVariables::extend(std::uint32_t variable, std::uint64_t steps) {
  const model::Definition& definition = definitions_.at(variable);
  const std::uint64_t slot = datasets_.at(variable).slot;
  const Dims shape =
      slot != 0 ? definition.shape_of(model::checked_product(steps, slot, "rows of all steps"))
                : dims_in_file(file_.profile(), definition, definition.shape).with_front(steps);
  set_extent(dataset(variable), shape, definition.name);
}

Placement PlannedVariables::place_fixed(std::uint32_t variable) {
  const model::Definition& definition = definitions_.at(variable);
  const bool is_empty = definition.bytes_per_step() == 0;
  std::vector<std::uint64_t> addresses;
  if (!is_empty) {
    // Another program, or the library itself (`time`), may have created it in chunks.
    const Handle list = own(H5Dget_create_plist(dataset(variable)), definition.name);
    const bool is_contiguous = H5Pget_layout(list.get()) == H5D_CONTIGUOUS;
    const std::uint64_t address =
        is_contiguous ? file_.place_contiguous(dataset(variable), definition) : 0;
    if (address < file_.frontier()) {
      refuse_rewriting(definition.name);
    }
    addresses.push_back(address);
  }
  return {variable, definition.type.bytes, definition.shape, definition.shape, addresses};
}

std::array<hsize_t, model::max_rank> PlannedVariables::chunk_at(std::uint32_t variable,
                                                                std::uint64_t step,
                                                                const Dims& start) const {
  std::array<hsize_t, model::max_rank> at{};
  const std::uint64_t slot = datasets_.at(variable).slot;
  const bool is_stacked = definitions_.at(variable).stepped && slot == 0;
  std::copy(start.begin(), start.end(), at.begin() + (is_stacked ? 1 : 0));
  at[0] = is_stacked ? step : at[0] + step * slot;
  return at;
}

Placement PlannedVariables::place_step(const Touched& touched, std::uint64_t step) {
  const std::uint32_t variable = touched.variable;
  const model::Definition& definition = definitions_.at(variable);
  const Dims& tile = datasets_.at(variable).tile;
  extend(variable, step + 1);
  // A step with fewer rows gets only the chunks of those rows.
  const Dims& shape = touched.shape.empty() ? definition.shape : touched.shape;
  const Dims grid = grid_of(shape, tile);
  const std::uint64_t count = shape.volume() == 0 ? 0 : grid.volume();
  std::vector<std::uint64_t> addresses;
  addresses.reserve(count);
  Dims cell = Dims::filled(grid.rank(), 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    Dims start = cell;
    for (int d = 0; d < grid.rank(); ++d) {
      start[d] *= tile[d];
    }
    const std::array<hsize_t, model::max_rank> at = chunk_at(variable, step, start);
    addresses.push_back(file_.place_chunk(dataset(variable), at.data(),
                                          tile.volume() * definition.type.bytes, definition.name));
    for (int d = grid.rank() - 1; d >= 0 && ++cell[d] == grid[d]; --d) {
      cell[d] = 0;
    }
  }
  return {variable, definition.type.bytes, shape, tile, addresses};
}

void PlannedVariables::prepare_encoded(const Touched& touched, std::uint64_t step) {
  const std::uint32_t variable = touched.variable;
  const model::Definition& definition = definitions_.at(variable);
  const Dims& tile = datasets_.at(variable).tile;
  if (touched.tiling.tile() != tile) {
    throw Error(Code::internal, definition.name + ": tiles of " + touched.tiling.tile().text() +
                                    ", but chunks of " + tile.text());
  }
  if (definition.stepped) {
    extend(variable, step + 1);
  } else if (has_storage(dataset(variable), definition.name)) {
    refuse_rewriting(definition.name);
  }
}

std::vector<std::uint64_t> PlannedVariables::place_encoded(std::span<const EncodedTile> tiles,
                                                           std::uint64_t step) {
  std::vector<std::uint64_t> addresses;
  addresses.reserve(tiles.size());
  for (const EncodedTile& encoded : tiles) {
    const model::Definition& definition = definitions_.at(encoded.variable);
    const Dims start =
        tile_box(definition.shape, datasets_.at(encoded.variable).tile, encoded.tile).start;
    const auto at = chunk_at(encoded.variable, step, start);
    addresses.push_back(file_.place_chunk(dataset(encoded.variable), at.data(), encoded.bytes,
                                          definition.name, encoded.mask));
  }
  return addresses;
}

std::vector<bool> PlannedVariables::existing() const {
  std::vector<bool> existing;
  for (const PlannedDataset& dataset : datasets_) {
    existing.push_back(dataset.exists);
  }
  return existing;
}

void PlannedVariables::committed(const std::vector<bool>& existing) {
  for (std::size_t v = 0; v < existing.size(); ++v) {
    datasets_[v].is_committed = existing[v];
  }
}

void PlannedVariables::forget_uncommitted() {
  for (PlannedDataset& dataset : datasets_) {
    dataset.exists = dataset.is_committed;
  }
}

}  // namespace sluice::layout::hdf5
