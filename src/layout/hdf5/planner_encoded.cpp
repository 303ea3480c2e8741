// Compressed variables: filters, and the addresses of tiles whose sizes came from their owners.
#include <algorithm>

#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/filter_plugins.hpp"
#include "layout/hdf5/planner.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

void Hdf5Planner::set_filters(std::uint32_t variable, hid_t list) const {
  constexpr std::uint32_t highest_deflate = 9;  // for HDF5; any reader can undo higher levels
  const std::string& name = definitions_[variable].name;
  for (const codec::Filter& filter :
       settled_filters(profile_, definitions_[variable], made_[variable].tile)) {
    if (filter.id == codec::shuffle_id) {
      check(H5Pset_shuffle(list), name);
    } else if (filter.id == codec::deflate_id) {
      check(H5Pset_deflate(list, std::min(filter.parameters[0], highest_deflate)), name);
    } else if (filter.id == codec::fletcher32_id) {
      check(H5Pset_fletcher32(list), name);
    } else {
      // Optional: this libhdf5 need not have the filter, because it never encodes.
      check(H5Pset_filter(list, static_cast<H5Z_filter_t>(filter.id), H5Z_FLAG_OPTIONAL,
                          filter.parameters.size(), filter.parameters.data()),
            name);
    }
  }
}

void Hdf5Planner::make_encoded_fixed(std::uint32_t variable, hid_t list) {
  const model::Definition& definition = definitions_[variable];
  const Handle type = type_in_file(profile_, definition.type);
  const Handle space = dataspace(dims_in_file(profile_, definition, definition.shape));
  set_chunk(list, dims_in_file(profile_, definition, made_[variable].tile), definition.name);
  set_filters(variable, list);
  made_[variable].dataset =
      create_dataset(hdf5_.get(), definition.name, type.get(), space.get(), list);
}

void Hdf5Planner::prepare_encoded(const Touched& touched) {
  const std::uint32_t variable = touched.variable;
  const model::Definition& definition = definitions_[variable];
  if (touched.tiling.tile() != made_[variable].tile) {
    throw Error(Code::internal, definition.name + ": tiles of " + touched.tiling.tile().text() +
                                    ", but chunks of " + made_[variable].tile.text());
  }
  if (definition.stepped) {
    extend(variable, planned_step_ + 1);
  } else if (has_storage(dataset(variable), definition.name)) {
    refuse_rewriting(definition.name);
  }
}

std::vector<std::uint64_t> Hdf5Planner::place_encoded(std::span<const EncodedTile> tiles) {
  const QuietErrors quiet;
  std::vector<std::uint64_t> addresses;
  addresses.reserve(tiles.size());
  for (const EncodedTile& encoded : tiles) {
    const model::Definition& definition = definitions_.at(encoded.variable);
    const Dims start =
        tile_box(definition.shape, made_.at(encoded.variable).tile, encoded.tile).start;
    const auto at = chunk_at(encoded.variable, planned_step_, start);
    addresses.push_back(note_chunk(dataset(encoded.variable), at.data(), encoded.bytes,
                                   definition.name, encoded.mask));
  }
  return addresses;
}

}  // namespace sluice::layout::hdf5
