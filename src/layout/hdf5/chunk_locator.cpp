#include "layout/hdf5/chunk_locator.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "layout/hdf5/datasets.hpp"
#include "layout/plausible.hpp"

namespace sluice::layout::hdf5 {

using model::Box;
using model::Dims;

namespace {

/// One bit for each filter: skipped.
constexpr std::uint32_t no_filter = ~std::uint32_t{0};

/// Negative if it fails, as in libhdf5.
herr_t read_chunk(hid_t dataset, const hsize_t* at, std::uint32_t& mask, void* buffer,
                  std::uint64_t bytes) {
#if H5_VERSION_GE(2, 0, 0)
  std::size_t size = bytes;
  return H5Dread_chunk2(dataset, H5P_DEFAULT, at, &mask, buffer, &size);
#else
  static_cast<void>(bytes);
  return H5Dread_chunk(dataset, H5P_DEFAULT, at, &mask, buffer);
#endif
}

}  // namespace

Placement ChunkLocator::locate(std::uint32_t variable, std::uint64_t step, const Box& region) {
  const QuietErrors quiet;
  const StoredVariable& stored = datasets_.stored(variable);
  const model::Definition& definition = stored.definition;
  const hid_t found = datasets_.find(variable, step);
  const Dims shape = datasets_.is_grouped(variable) && found >= 0
                         ? datasets_.shape_of(found, variable, step)
                         : definition.shape;
  if (found >= 0) {
    const Handle list = own(H5Dget_create_plist(found), definition.name);
    const bool is_chunked = H5Pget_layout(list.get()) == H5D_CHUNKED;
    if (is_chunked && !datasets_.is_grouped(variable)) {
      return locate_chunks(variable, step, region);
    }
    if (is_chunked) {
      throw Error(Code::unsupported,
                  definition.name + ", step " + std::to_string(step) +
                      ": is chunked, although the first and the last step are not");
    }
  }
  std::vector<std::uint64_t> addresses(shape.volume() == 0 ? 0 : 1, absent);
  const haddr_t address = found >= 0 ? H5Dget_offset(found) : HADDR_UNDEF;
  if (found >= 0 && address == HADDR_UNDEF) {
    check_no_error(definition.name);
  }
  if (!addresses.empty() && address != HADDR_UNDEF) {
    const bool is_stacked = definition.stepped && !datasets_.is_grouped(variable);
    const bool is_there = !is_stacked || step < dims_of(found, definition.name)[0];
    addresses[0] = !is_there
                       ? absent
                       : address + (is_stacked ? step * shape.volume() * definition.type.bytes : 0);
  }
  return {variable, definition.type.bytes, shape, shape, addresses};
}

Placement ChunkLocator::locate_chunks(std::uint32_t variable, std::uint64_t step,
                                      const Box& region) {
  // Edge chunks are full-size in the file, so the placement needs only the grid.
  const StoredVariable& stored = datasets_.stored(variable);
  const model::Definition& definition = stored.definition;
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint64_t> addresses;
  const std::uint64_t chunk_bytes = stored.tile.volume() * definition.type.bytes;
  visit_chunks(variable, step, region, chunk_bytes,
               [&](std::uint64_t tile, const Extent& extent, std::uint32_t) {
                 if (extent.length != chunk_bytes) {
                   throw Error(Code::damaged, definition.name + ": the index says " +
                                                  std::to_string(extent.length) +
                                                  " bytes for a chunk of " +
                                                  std::to_string(chunk_bytes));
                 }
                 numbers.push_back(tile);
                 addresses.push_back(extent.offset);
               });
  return Placement::of_tiles(variable, definition.type.bytes, definition.shape, stored.tile,
                             std::move(numbers), std::move(addresses));
}

EncodedTiles ChunkLocator::locate_encoded(std::uint32_t variable, std::uint64_t step,
                                          const Box& region) {
  const QuietErrors quiet;
  const StoredVariable& stored = datasets_.stored(variable);
  const model::Definition& definition = stored.definition;
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint64_t> addresses;
  EncodedTiles tiles;
  const hid_t found = datasets_.find(variable, step);
  if (datasets_.is_grouped(variable) && found >= 0) {
    datasets_.shape_of(found, variable, step);
  }
  const bool plain_edges = found >= 0 && has_plain_edges(found, definition.name);
  visit_chunks(variable, step, region, state_.file->size() + 1,
               [&](std::uint64_t tile, const Extent& extent, std::uint32_t mask) {
                 const bool is_edge =
                     tile_box(definition.shape, stored.tile, tile).count != stored.tile;
                 numbers.push_back(tile);
                 addresses.push_back(extent.offset);
                 tiles.sizes.push_back(extent.length);
                 tiles.masks.push_back(plain_edges && is_edge ? no_filter : mask);
               });
  tiles.placement = Placement::of_tiles(variable, definition.type.bytes, definition.shape,
                                        stored.tile, std::move(numbers), std::move(addresses));
  return tiles;
}

void ChunkLocator::visit_chunks(std::uint32_t variable, std::uint64_t step, const Box& region,
                                std::uint64_t most_bytes, const Visit& visit) {
  const StoredVariable& stored = datasets_.stored(variable);
  const model::Definition& definition = stored.definition;
  const Dims& held = datasets_.arrangement(variable).held;
  const auto of_dataset = held.empty() ? region : model::intersect(region, model::whole(held));
  if (!of_dataset) {
    return;
  }
  require_plausible_tiles(definition.name + ": a step", tiles_in(stored.tile, *of_dataset),
                          most_tiles_of_a_file(state_.file->size()));
  const hid_t found = datasets_.find(variable, step);
  if (found >= 0 && datasets_.ends_before(found, variable, step)) {
    return;
  }
  // Only the address and the size of a chunk are recorded: nothing is read into it, and the driver
  // knows it by its beginning. An encoded chunk may be longer, as far as the index says.
  const std::uint64_t decoded_bytes = stored.tile.volume() * definition.type.bytes;
  void* placeholder = state_.placeholder.reserve(std::min(most_bytes, decoded_bytes));
  for_each_piece(definition.shape, stored.tile, *of_dataset, [&](const Piece& piece) {
    const Dims start = tile_box(definition.shape, stored.tile, piece.tile_index).start;
    std::array<hsize_t, model::max_rank> at{};
    std::copy(start.begin(), start.end(), at.begin() + datasets_.lead(variable));
    at[0] += datasets_.first_row(variable, step);
    const std::string what = definition.name + ", chunk at " + start.text() + ": ";
    std::uint32_t mask = 0;
    state_.noted.reset();
    take_storage_failure();
    if (read_chunk(found, at.data(), mask, placeholder, most_bytes) < 0) {
      const std::string why = state_.failure.empty() ? last_error() : state_.failure;
      if (const auto met = take_storage_failure()) {
        throw Error(met->code(), what + "chunk index: " + met->what());
      }
      if (why != "chunk address isn't defined" && why != "storage is not initialized") {
        throw Error(Code::damaged, what + "chunk index: " + why);
      }
      return;  // not allocated: reads as the fill value
    }
    if (!state_.noted) {
      throw Error(Code::damaged, what + "the index says that it has no bytes");
    }
    visit(piece.tile_index, *state_.noted, mask);
    state_.noted.reset();
  });
}

}  // namespace sluice::layout::hdf5
