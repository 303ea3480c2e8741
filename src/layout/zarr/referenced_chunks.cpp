#include "layout/zarr/referenced_chunks.hpp"

#include <utility>

#include "codec/filter.hpp"
#include "layout/plausible.hpp"
#include "layout/zarr/objects.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

using model::Box;
using model::Dims;

namespace {

/// A chunk of an array with chunks in the reference file is decoded on one rank, as a whole.
constexpr std::uint64_t most_inline_bytes = 1ULL << 30;

}  // namespace

std::string key_of(const Manifest& manifest, std::uint32_t variable, const Dims& chunk_at) {
  const Stored& stored = manifest.arrays.at(variable);
  // The one array of a store that is no group lies in the store's own folder.
  const std::string folder = manifest.is_array ? "" : stored.definition.name + "/";
  return folder + stored.array.object_name(chunk_at);
}

const storage::Segment& ReferencedChunks::file_named(const std::string& name) {
  if (const auto known = files_.find(name); known != files_.end()) {
    return known->second;
  }
  const auto bytes = file_.object_bytes(name);
  if (!bytes) {
    throw Error(Code::not_found, file_.path() + ": a reference to " + name +
                                     ", which is not there: a relative path begins at the folder "
                                     "of the reference file");
  }
  storage::Segment segment;
  segment.name = name;
  segment.length = segment.file_bytes = *bytes;
  segment.address = new_addresses(*bytes);
  file_.map({&segment, 1});
  return files_.emplace(name, std::move(segment)).first->second;  // known only once all succeeded
}

std::optional<FoundChunk> ReferencedChunks::find(const std::string& key) {
  const Reference* reference = references_.find(key);
  if (reference == nullptr) {
    return std::nullopt;
  }
  if (reference->is_inline()) {
    return FoundChunk{nullptr, {0, reference->bytes.size()}};
  }
  const storage::Segment& segment = file_named(reference->file);
  const std::uint64_t there = segment.length;
  if (reference->is_whole) {
    return FoundChunk{&segment, {0, there}};
  }
  if (reference->length > there || reference->offset > there - reference->length) {
    throw Error(Code::truncated, file_.path() + ": the reference " + key + " says " +
                                     std::to_string(reference->length) + " bytes at " +
                                     std::to_string(reference->offset) + " of " + reference->file +
                                     ", which has " + std::to_string(there));
  }
  return FoundChunk{&segment, {reference->offset, reference->length}};
}

std::vector<std::byte> ReferencedChunks::stored_bytes(const std::string& key,
                                                      const FoundChunk& found) {
  if (found.object == nullptr) {
    return references_.find(key)->bytes;
  }
  std::vector<std::byte> bytes(found.extent.length);
  if (file_.read(found.object->address + found.extent.offset, bytes) != bytes.size()) {
    throw Error(Code::truncated, file_.path() + ": the reference " + key + " ends inside its data");
  }
  return bytes;
}

void ReferencedChunks::read_each(const Manifest& manifest, std::uint32_t variable,
                                 std::uint64_t step, const Box& box, std::span<std::byte> out) {
  const Array& array = manifest.arrays.at(variable).array;
  const model::Definition& d = manifest.arrays.at(variable).definition;
  codec::Coder coder(array.filters);
  const Tiling objects = array.objects();
  const Tiling tiling = d.stepped ? array.tiling().without_front() : array.tiling();
  const Dims grid = grid_of(d.shape, tiling);
  for (const Piece& piece : cut(d.shape, tiling, box)) {
    const Box whole = tiling.whole(grid, piece.tile_index);
    const Dims start = d.stepped ? whole.start.with_front(step) : whole.start;
    Dims chunk_at;
    for (int i = 0; i < start.rank(); ++i) {
      chunk_at.push_back(objects.number_of(i, start[i]));
    }
    const std::string key = key_of(manifest, variable, chunk_at);
    const auto found = find(key);
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
