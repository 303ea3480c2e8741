// How a catalog reads a store whose chunks are ranges of other files, or in the reference file.
#include <algorithm>

#include "codec/filter.hpp"
#include "layout/plausible.hpp"
#include "layout/zarr/catalog.hpp"
#include "layout/zarr/objects.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

using model::Box;
using model::Dims;

std::string ZarrCatalog::key_of(std::uint32_t variable, const Dims& chunk_at) const {
  const Stored& stored = manifest_.arrays.at(variable);
  // The one array of a store that is no group lies in the store's own folder.
  const std::string folder = manifest_.is_array ? "" : stored.definition.name + "/";
  return folder + stored.array.object_name(chunk_at);
}

ZarrCatalog::Object& ZarrCatalog::file_named(const std::string& name) {
  const auto [at, is_new] = files_.try_emplace(name);
  Object& object = at->second;
  if (is_new) {
    const auto bytes = file_.object_bytes(name);
    if (!bytes) {
      throw Error(Code::not_found, file_.path() + ": a reference to " + name +
                                       ", which is not there: a relative path begins at the folder "
                                       "of the reference file");
    }
    object.segment.name = name;
    object.segment.length = object.segment.file_bytes = *bytes;
    object.segment.address = new_addresses(*bytes);
    file_.map({&object.segment, 1});
  }
  return object;
}

std::optional<ZarrCatalog::Found> ZarrCatalog::find_reference(const std::string& key) {
  const Reference* reference = references_->find(key);
  if (reference == nullptr) {
    return std::nullopt;
  }
  if (reference->is_inline()) {
    return Found{nullptr, {0, reference->bytes.size()}};
  }
  Object& object = file_named(reference->file);
  const std::uint64_t there = object.segment.length;
  if (reference->is_whole) {
    return Found{&object, {0, there}};
  }
  if (reference->length > there || reference->offset > there - reference->length) {
    throw Error(Code::truncated, file_.path() + ": the reference " + key + " says " +
                                     std::to_string(reference->length) + " bytes at " +
                                     std::to_string(reference->offset) + " of " + reference->file +
                                     ", which has " + std::to_string(there));
  }
  return Found{&object, {reference->offset, reference->length}};
}

std::vector<std::byte> ZarrCatalog::stored_bytes(const std::string& key, const Found& found) {
  if (found.object == nullptr) {
    return references_->find(key)->bytes;
  }
  std::vector<std::byte> bytes(found.extent.length);
  if (file_.read(found.object->segment.address + found.extent.offset, bytes) != bytes.size()) {
    throw Error(Code::truncated, file_.path() + ": the reference " + key + " ends inside its data");
  }
  return bytes;
}

void ZarrCatalog::read_each(std::uint32_t variable, std::uint64_t step, const Box& box,
                            std::span<std::byte> out) {
  const Array& array = manifest_.arrays.at(variable).array;
  const model::Definition& d = variables_.at(variable).definition;
  codec::Coder coder(array.filters);
  const Dims grid = grid_of(d.shape, tilings_[variable]);
  for (const Piece& piece : cut(d.shape, tilings_[variable], box)) {
    const Box whole = tilings_[variable].whole(grid, piece.tile_index);
    const Dims start = d.stepped ? whole.start.with_front(step) : whole.start;
    Dims chunk_at;
    for (int i = 0; i < start.rank(); ++i) {
      chunk_at.push_back(objects_of_[variable].number_of(i, start[i]));
    }
    const std::string key = key_of(variable, chunk_at);
    const auto found = find_reference(key);
    const std::uint64_t dense_bytes =
        model::checked_product(whole.count.volume(), d.type.bytes, "a chunk");
    if (found && array.filters.empty() && found->extent.length != dense_bytes) {
      throw Error(Code::damaged, file_.path() + ": the reference " + key + " has " +
                                     std::to_string(found->extent.length) + " bytes, not " +
                                     std::to_string(dense_bytes));
    }
    require_plausible_tiles(d.name + ": a chunk", dense_bytes, most_inline_bytes);
    std::vector<std::byte> dense(dense_bytes);
    if (!found) {
      model::fill(dense, d.type, d.fill);
    } else if (array.filters.empty()) {
      dense = stored_bytes(key, *found);
    } else {
      coder.decode(stored_bytes(key, *found), 0, dense);
    }
    if (found && array.big_endian) {
      model::swap_bytes(dense, d.type);
    }
    model::copy_box(dense.data(), whole, out.data(), box, piece.box, d.type.bytes);
  }
}

}  // namespace sluice::layout::zarr
