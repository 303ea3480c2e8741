#include "layout/zarr/catalog.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "layout/lengths.hpp"
#include "layout/plausible.hpp"
#include "layout/read_ahead.hpp"
#include "layout/zarr/objects.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"

namespace sluice::layout::zarr {

using model::Box;
using model::Dims;

namespace {

/// Objects of an array that are remembered.
constexpr std::size_t most_objects = 1024;
/// Chunks whose objects are looked up at a time.
constexpr std::size_t most_looked_up = 1024;

std::string storage_text(const Array& array) {
  std::string text = array.lengths.empty() ? "" : "rectilinear ";
  text += array.sharded ? "shards" : "chunks";
  for (const codec::Filter& filter : array.filters) {
    const bool is_blosc = filter.id == codec::blosc_id && filter.parameters.size() == 4;
    const auto method = codec::find_method(is_blosc ? filter.parameters[2] : filter.id);
    text += is_blosc && filter.parameters[1] != 0 ? ", shuffle" : "";
    text += ", " + (method ? method->name : std::string("compressed"));
  }
  return text;
}

/// Of references: the index of a shard would have to be read through the reference to it.
void leave_out_shards(Manifest& manifest) {
  const auto shards = std::stable_partition(manifest.arrays.begin(), manifest.arrays.end(),
                                            [](const Stored& s) { return !s.array.sharded; });
  for (auto at = shards; at != manifest.arrays.end(); ++at) {
    manifest.unreadable.push_back({at->definition.name,
                                   "references to shards: open the store itself, or write "
                                   "references to an array without sharding_indexed"});
  }
  manifest.arrays.erase(shards, manifest.arrays.end());
}

}  // namespace

std::unique_ptr<ZarrCatalog> ZarrCatalog::open(storage::File& file) {
  std::unique_ptr<ZarrCatalog> catalog(new ZarrCatalog(file));
  catalog->load();
  return catalog;
}

void ZarrCatalog::load() {
  manifest_ = read_manifest(file_);
  if (is_references(file_)) {
    referenced_.emplace(file_);
    leave_out_shards(manifest_);
  }
  ours_ = manifest_.ours;
  steps_ = manifest_.steps;
  has_time_ = manifest_.has_time;
  unreadable_ = manifest_.unreadable;
  unread_attributes_ = manifest_.unread_attributes;
  for (const Stored& stored : manifest_.arrays) {
    const Array& array = stored.array;
    StoredVariable variable;
    variable.definition = stored.definition;
    variable.big_endian = array.big_endian;
    const bool has_inline = referenced_ && referenced_->has_inline_chunks(
                                               manifest_.is_array ? "" : stored.definition.name);
    variable.placeable = array.filters.empty() && !has_inline;
    variable.filters = has_inline ? codec::Pipeline{} : array.filters;
    objects_of_.push_back(array.objects());
    const Tiling tiling = array.tiling();
    tilings_.push_back(stored.definition.stepped ? tiling.without_front() : tiling);
    variable.tile = tilings_.back().tile();
    variable.storage = storage_text(array);
    if (stored.definition.stepped && array.inner[0] != 1) {
      throw Error(Code::damaged,
                  file_.path() + ": " + stored.definition.name + ": chunks of more than one step");
    }
    variables_.push_back(std::move(variable));
  }
  if (!ours_) {
    return;
  }
  // From the last row back, so that each drop is met once, when all rows that it covers follow.
  const auto rows = read_rows(file_, manifest_);
  std::vector<Drop> drops = manifest_.drops;
  std::sort(drops.begin(), drops.end(), [](auto& a, auto& b) { return a.rows < b.rows; });
  std::uint64_t kept_steps = CommitRow::no_step;
  for (std::size_t i = rows.size(); i-- > 0;) {
    for (; !drops.empty() && drops.back().rows > i; drops.pop_back()) {
      kept_steps = std::min(kept_steps, drops.back().steps);
    }
    if (rows[i].step == CommitRow::no_step || rows[i].step < kept_steps) {
      commits_.push_back(rows[i]);
    }
  }
  std::reverse(commits_.begin(), commits_.end());
}

std::vector<UnreadableDataset> ZarrCatalog::other_objects() {
  std::vector<UnreadableDataset> others;
  for (const std::string& group : manifest_.empty_groups) {
    others.push_back({group, "an empty group"});
  }
  return others;
}

std::vector<std::string> ZarrCatalog::unchecked() {
  std::vector<std::string> unchecked;
  if (ours_ && !manifest_.is_sealed) {
    unchecked.push_back(std::string(document_name) + " (written anew by another program)");
  } else if (ours_) {
    for (const Document& document : stale_documents(file_)) {
      unchecked.push_back(document.name + " (not as the root says: sluice recover rewrites it)");
    }
  }
  return unchecked;
}

Dims ZarrCatalog::object_of(std::uint32_t variable, const Dims& element) const {
  Dims at;
  for (int d = 0; d < element.rank(); ++d) {
    at.push_back(objects_of_[variable].number_of(d, element[d]));
  }
  return at;
}

void ZarrCatalog::know_objects(std::uint32_t variable, std::span<const Dims> elements) {
  if (known_variable_ != variable || objects_.size() > most_objects) {
    objects_.clear();
    known_variable_ = variable;
  }
  std::set<std::string> unknown;
  for (const Dims& element : elements) {
    std::string name = key_of(manifest_, variable, object_of(variable, element));
    if (objects_.count(name) == 0) unknown.insert(std::move(name));
  }
  const std::vector<std::string> names(unknown.begin(), unknown.end());
  const storage::Sizes sizes = sizes_of_objects(file_, names);
  std::vector<storage::Segment> segments;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t bytes = sizes[i].value_or(0);
    segments.push_back({new_addresses(bytes), bytes, bytes, names[i]});
  }
  file_.map(segments);
  for (storage::Segment& segment : segments) {  // known only once all succeeded
    const std::string name = segment.name;
    objects_[name].segment = std::move(segment);
  }
}

void ZarrCatalog::read_index(std::uint32_t variable, const Array& array, std::uint64_t count,
                             Object& object) {
  const std::string what =
      manifest_.arrays[variable].definition.name + ", shard " + object.segment.name + ": ";
  const std::uint64_t bytes = index_bytes(count);
  if (object.segment.length < bytes) {
    throw Error(Code::truncated, what + "has " + std::to_string(object.segment.length) +
                                     " bytes, its index alone " + std::to_string(bytes));
  }
  require_plausible_tiles(what + "a shard", count, most_tiles_of_a_step);
  std::vector<std::byte> text(bytes);
  const std::uint64_t offset = array.index_first ? 0 : object.segment.length - bytes;
  if (file_.read(object.segment.address + offset, text) != bytes) {
    throw Error(Code::truncated, what + "ends inside its index");
  }
  object.index = decode_index(text, what);
  object.has_index = true;
}

std::optional<FoundChunk> ZarrCatalog::find(std::uint32_t variable, const Dims& element) {
  const Array& array = manifest_.arrays.at(variable).array;
  const Tiling& objects = objects_of_[variable];
  const Dims chunk_at = object_of(variable, element);
  std::uint64_t position = 0;
  std::uint64_t count = 1;  // of inner chunks
  for (int d = 0; d < element.rank(); ++d) {
    const std::uint64_t within = (element[d] - objects.start_of(d, chunk_at[d])) / array.inner[d];
    const std::uint64_t along = objects.length_of(d, chunk_at[d]) / array.inner[d];
    position = position * along + within;
    count *= along;
  }
  if (referenced_) {
    return referenced_->find(key_of(manifest_, variable, chunk_at));
  }
  Object& object = objects_.at(key_of(manifest_, variable, chunk_at));
  if (object.segment.length == 0) {
    return std::nullopt;
  }
  if (!array.sharded) {
    return FoundChunk{&object.segment, {0, object.segment.length}};
  }
  if (!object.has_index) {
    read_index(variable, array, count, object);
  }
  const IndexEntry& entry = object.index[position];
  if (entry.offset == absent && entry.bytes == absent) {
    return std::nullopt;
  }
  if (entry.bytes > object.segment.length || entry.offset > object.segment.length - entry.bytes) {
    throw Error(Code::damaged, manifest_.arrays[variable].definition.name + ", chunk at " +
                                   element.text() + ": the index of " + object.segment.name +
                                   " says " + std::to_string(entry.bytes) + " bytes at " +
                                   std::to_string(entry.offset) + ", and it has " +
                                   std::to_string(object.segment.length));
  }
  return FoundChunk{&object.segment, {entry.offset, entry.bytes}};
}

EncodedTiles ZarrCatalog::look_up(std::uint32_t variable, std::uint64_t step, const Box& region) {
  const model::Definition& d = variables_.at(variable).definition;
  const Tiling& tiling = tilings_[variable];
  const Dims& whole = manifest_.arrays[variable].array.shape;
  // Chunks may be left out, so nothing in the store says how many there should be.
  require_plausible_tiles(d.name + ": a step", tiles_in(tiling, region), most_tiles_of_a_step);
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint64_t> addresses;
  EncodedTiles tiles;
  std::map<std::uint64_t, storage::Segment> used;
  std::vector<std::uint64_t> batch;
  std::vector<Dims> elements;
  const auto find_batch = [&] {
    if (!referenced_) know_objects(variable, elements);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (const auto found = find(variable, elements[i])) {
        numbers.push_back(batch[i]);
        addresses.push_back(found->object->address + found->extent.offset);
        tiles.sizes.push_back(found->extent.length);
        used.emplace(found->object->address, *found->object);
      }
    }
    batch.clear();
    elements.clear();
  };
  if (!d.stepped || step < whole[0]) {
    for_each_piece(d.shape, tiling, region, [&](const Piece& piece) {
      const Dims start = tile_box(d.shape, tiling, piece.tile_index).start;
      batch.push_back(piece.tile_index);
      elements.push_back(d.stepped ? start.with_front(step) : start);
      if (batch.size() == most_looked_up) find_batch();
    });
    find_batch();
  }
  tiles.masks.resize(tiles.sizes.size(), 0);
  tiles.placement = Placement::of_tiles(variable, d.type.bytes, d.shape, tiling, std::move(numbers),
                                        std::move(addresses));
  std::vector<storage::Segment> objects;
  objects.reserve(used.size());
  for (const auto& [address, segment] : used) {
    objects.push_back(segment);
  }
  tiles.placement.set_objects(std::move(objects));
  return tiles;
}

Placement ZarrCatalog::locate(std::uint32_t variable, std::uint64_t step, const Box& region) {
  EncodedTiles tiles = look_up(variable, step, region);
  for (std::uint64_t entry = 0; entry < tiles.sizes.size(); ++entry) {
    const std::uint64_t tile = tiles.placement.tile_at(entry);
    const std::uint64_t wanted = tiles.placement.tile_bytes(tile);
    if (tiles.sizes[entry] != wanted) {
      throw Error(tiles.sizes[entry] < wanted ? Code::truncated : Code::damaged,
                  variables_[variable].definition.name + ", chunk at " +
                      tiles.placement.tile_box(tile).start.text() + ": has " +
                      std::to_string(tiles.sizes[entry]) + " bytes, not " + std::to_string(wanted));
    }
  }
  return std::move(tiles.placement);
}

EncodedTiles ZarrCatalog::locate_encoded(std::uint32_t variable, std::uint64_t step,
                                         const Box& region) {
  return look_up(variable, step, region);
}

void ZarrCatalog::read(std::uint32_t variable, std::uint64_t step, const Box& box,
                       std::span<std::byte> out) {
  if (box.empty()) {
    return;
  }
  const StoredVariable& stored = variables_.at(variable);
  if (referenced_ && !stored.placeable && stored.filters.empty()) {
    referenced_->read_each(manifest_, variable, step, box, out);
    return;
  }
  if (!stored.filters.empty()) {
    read_encoded(file_, stored, locate_encoded(variable, step, box), {variable, step}, box, out,
                 last_tile_);
    return;
  }
  const Placement placement = locate(variable, step, box);
  const model::Definition& d = stored.definition;
  const auto ahead = read_ahead(file_, placement, box);
  std::vector<std::byte> filled;
  for_each_piece(d.shape, placement.tiling(), box, [&](const Piece& piece) {
    if (placement.address(piece.tile_index) == absent) {
      filled.resize(piece.box.volume() * d.type.bytes);
      model::fill(filled, d.type, d.fill);
      if (stored.big_endian) {
        model::swap_bytes(filled, d.type);
      }
      model::copy_box(filled.data(), piece.box, out.data(), box, piece.box, d.type.bytes);
      return;
    }
    for_each_run(placement, piece, box, [&](std::uint64_t at, std::uint64_t to, std::uint64_t n) {
      if (file_.read(at, out.subspan(to, n)) != n) {
        throw Error(Code::truncated, d.name + ": an object ends inside its data");
      }
    });
  });
  if (stored.big_endian) {
    model::swap_bytes(out, d.type);
  }
}

std::vector<std::uint64_t> ZarrCatalog::rows_by_step(std::uint32_t variable) {
  const model::Definition& d = variables_.at(variable).definition;
  if (!d.varying) {
    return {};
  }
  const std::string name = length_name(d.name);
  const auto lengths = std::find_if(variables_.begin(), variables_.end(), [&](const auto& stored) {
    const model::Definition& other = stored.definition;
    return other.name == name && other.stepped && other.shape.empty() &&
           other.type == type_of<std::uint64_t>();
  });
  if (lengths == variables_.end()) {
    throw Error(Code::damaged,
                file_.path() + ": " + d.name + ": its rows vary, but there is no " + name);
  }
  std::vector<std::uint64_t> rows(steps_, 0);
  for (std::uint64_t step = 0; step < steps_; ++step) {
    read(static_cast<std::uint32_t>(lengths - variables_.begin()), step, {},
         std::as_writable_bytes(std::span(&rows[step], 1)));
    if (rows[step] > d.shape[0]) {
      throw Error(Code::damaged, file_.path() + ": " + d.name + ": step " + std::to_string(step) +
                                     " claims more rows than the variable can have");
    }
  }
  return rows;
}

std::vector<std::uint64_t> ZarrCatalog::checksum_words(const CommitRow& commit) {
  const std::uint64_t each = manifest_.checksum_chunk_words;
  const std::uint64_t held = model::checked_product(manifest_.checksum_chunks, each, "checksums");
  if (commit.word_count > held || commit.first_word > held - commit.word_count) {
    throw Error(Code::damaged,
                file_.path() + ": " + commits_name + " points outside " + checksums_name);
  }
  std::vector<std::uint64_t> words;
  for (std::uint64_t at = commit.first_word; at < commit.first_word + commit.word_count;) {
    const std::uint64_t chunk = at / each;
    const std::uint64_t skip = at % each;
    const std::uint64_t count = std::min(each - skip, commit.first_word + commit.word_count - at);
    const std::string name = std::string(checksums_name) + "/c." + std::to_string(chunk);
    const auto bytes = read_object(file_, name, new_addresses(each * 8), each * 8);
    const auto* first = reinterpret_cast<const std::uint64_t*>(bytes.data()) + skip;
    words.insert(words.end(), first, first + count);
    at += count;
  }
  return words;
}

}  // namespace sluice::layout::zarr
