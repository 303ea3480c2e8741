#include "layout/zarr/planner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "layout/rounding.hpp"
#include "layout/times.hpp"
#include "layout/zarr/dimension_names.hpp"
#include "layout/zarr/fill_value.hpp"
#include "model/bytes.hpp"
#include "model/round_up.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

using model::Definition;
using model::Dims;

namespace {

/// Beyond any manifest, whose bytes have the addresses from 0 on.
constexpr std::uint64_t first_address = 1ULL << 40;
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t fewest_checksum_words = 512;
/// A variable with more objects a step has those that are to be removed looked up, not guessed.
constexpr std::uint64_t most_guessed_objects = 1024;

/// The node that a document is of; "" is the root.
std::string node_of(const std::string& document) {
  const std::size_t slash = document.rfind('/');
  return slash == std::string::npos ? std::string() : document.substr(0, slash);
}

}  // namespace

ZarrPlanner::ZarrPlanner(storage::File& file, const PlannerOptions& options)
    : file_(file), options_(options), next_address_(first_address), arrays_(file, options) {
  options_.alignment_bytes = model::round_up(options.alignment_bytes, page_bytes);
}

std::unique_ptr<ZarrPlanner> ZarrPlanner::create(storage::File& file,
                                                 const PlannerOptions& options) {
  return std::unique_ptr<ZarrPlanner>(new ZarrPlanner(file, options));
}

std::unique_ptr<ZarrPlanner> ZarrPlanner::append(storage::File& file,
                                                 const PlannerOptions& options) {
  auto planner = create(file, options);
  planner->load();
  return planner;
}

void ZarrPlanner::load() {
  const Manifest manifest = read_manifest(file_);
  if (!manifest.ours) {
    throw Error(Code::unsupported,
                file_.path() +
                    ": format zarr: steps can be appended only to a store that Sluice wrote: write "
                    "a new one");
  }
  rows_.load(file_, manifest);
  attributes_ = manifest.attributes;
  state_.steps = manifest.steps;
  state_.checksum_chunk_words = manifest.checksum_chunk_words;
  state_.checksum_chunks = manifest.checksum_chunks;
  state_.has_time = manifest.has_time;
  kept_ = manifest.kept;
  arrays_.note_earlier();
  for (const Stored& stored : manifest.arrays) {
    arrays_.load(stored, kept_.documents.count(stored.definition.name) == 0);
    add_fill_attribute(stored.definition);
  }
  for (auto& [name, text] : documents_of(this->manifest())) {
    const std::string node = node_of(name);
    arrays_.note_node(node);
    if (kept_.documents.count(node) != 0) {
      untouched_.emplace(name, text);
    }
  }
  written_ = untouched_;
  history_.begin(state());
}

std::uint64_t ZarrPlanner::take(std::uint64_t bytes) {
  const std::uint64_t unit = options_.whole_objects
                                 ? std::bit_ceil(std::max<std::uint64_t>(page_bytes, bytes))
                                 : options_.alignment_bytes;
  const std::uint64_t address = model::round_up(next_address_, unit);
  next_address_ = address + std::max<std::uint64_t>(1, bytes);
  return address;
}

/// Those of another program, such as arrays of text: they are not among the known definitions.
Refusals ZarrPlanner::refusals() const {
  Refusals refusals;
  for (const auto& [name, document] : kept_.documents) {
    refusals.nodes.push_back({name, document.value("node_type", "") == "array"});
  }
  return refusals;
}

void ZarrPlanner::define(const Definition& definition) {
  arrays_.add(definition);
  add_fill_attribute(definition);
}

void ZarrPlanner::add_fill_attribute(const Definition& definition) {
  const auto said = fill_attribute(definition);
  const auto is_it = [&](const model::Attribute& a) {
    return a.owner == said->owner && a.name == said->name;
  };
  if (said && std::none_of(attributes_.begin(), attributes_.end(), is_it)) {
    attributes_.push_back(*said);
  }
}

void ZarrPlanner::set_attribute(const model::Attribute& attribute) {
  model::set_attribute(attributes_, attribute);
}

ZarrPlanner::Planned ZarrPlanner::plan_shards(const Touched& touched, std::uint64_t step) {
  const std::uint32_t variable = touched.variable;
  const Definition& d = known()[variable];
  const PlannedArrays::Made& made = arrays_.made(variable);
  const codec::Pipeline filters = pipeline_in_zarr(pipeline_of(d));
  const Dims& shape = d.varying && !touched.shape.empty() ? touched.shape : d.shape;
  const std::uint64_t tiles = shape.volume() == 0 ? 0 : grid_of(shape, made.tiling).volume();
  Planned planned{variable, !filters.empty(), shape, tiles, {}};
  const bool is_regular = made.tiling.is_regular();
  const Dims grid = grid_of(d.shape, made.tiling);
  std::uint64_t tile_bytes = made.tiling.tile().volume() * d.type.bytes;
  // A filter adds a few bytes to what does not shrink.
  const std::uint64_t added =
      planned.encoded ? codec::find_method(filters.back().id)->added_bytes : 0;
  const std::uint64_t per_shard = arrays_.tiles_in_shard(variable);
  for (std::uint64_t first = 0; first < tiles; first += per_shard) {
    Shard shard;
    const std::uint64_t count = std::min(per_shard, tiles - first);
    if (!is_regular) {
      tile_bytes = made.tiling.whole(grid, first).volume() * d.type.bytes;
    }
    if (made.shard_rows != 0) {
      shard.index.resize(per_shard);
      // Uncompressed chunks begin on a page; of compressed ones the gap would be a large part.
      shard.next = model::round_up(index_bytes(per_shard), planned.encoded ? 1 : page_bytes);
    }
    shard.segment.name = arrays_.object_of(variable, first / per_shard, step);
    shard.segment.length = shard.next + count * (tile_bytes + added);
    shard.segment.file_bytes = planned.encoded ? 0 : shard.segment.length;
    shard.segment.address = take(shard.segment.length);
    for (std::uint64_t i = 0; i < count && !planned.encoded && made.shard_rows != 0; ++i) {
      shard.index[i] = {shard.next + i * tile_bytes, tile_bytes};
    }
    objects_.push_back(shard.segment);
    planned.shards.push_back(std::move(shard));
  }
  return planned;
}

Placement ZarrPlanner::place(const Planned& planned) const {
  const Definition& d = known()[planned.variable];
  const PlannedArrays::Made& made = arrays_.made(planned.variable);
  const std::uint64_t tile_bytes = made.tiling.tile().volume() * d.type.bytes;
  const std::uint64_t per_shard = arrays_.tiles_in_shard(planned.variable);
  std::vector<std::uint64_t> addresses;
  addresses.reserve(planned.tiles);
  for (std::uint64_t tile = 0; tile < planned.tiles; ++tile) {
    const Shard& shard = planned.shards[tile / per_shard];
    addresses.push_back(shard.segment.address + shard.next + tile % per_shard * tile_bytes);
  }
  return {planned.variable, d.type.bytes, planned.shape, made.tiling, addresses};
}

Placement ZarrPlanner::place_checksums(std::uint64_t words, CommitRow& row) {
  if (state_.checksum_chunk_words == 0) {
    state_.checksum_chunk_words = std::clamp(model::round_up(words, fewest_checksum_words),
                                             fewest_checksum_words, most_checksum_words);
  }
  const std::uint64_t each = state_.checksum_chunk_words;
  const std::uint64_t chunks = (words + each - 1) / each;
  row.first_word = state_.checksum_chunks * each;
  row.word_count = words;
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < chunks; ++i, ++state_.checksum_chunks) {
    storage::Segment segment;
    segment.name = std::string(checksums_name) + "/c." + std::to_string(state_.checksum_chunks);
    segment.length = segment.file_bytes = each * 8;
    segment.address = take(segment.length);
    addresses.push_back(segment.address);
    objects_.push_back(std::move(segment));
  }
  return {checksum_variable, 8, {chunks * each}, Dims{each}, addresses};
}

std::vector<ZarrPlanner::Planned*> ZarrPlanner::planned_by_variable() {
  std::vector<Planned*> by_variable(known().size(), nullptr);
  for (Planned& planned : planned_) {
    by_variable[planned.variable] = &planned;
  }
  return by_variable;
}

void ZarrPlanner::forget_untouched(std::uint64_t step, std::vector<storage::Segment>& objects) {
  const std::vector<Planned*> by_variable = planned_by_variable();
  for (std::uint32_t v = 0; v < known().size(); ++v) {
    if (!known()[v].stepped || !arrays_.made(v).exists) {
      continue;
    }
    const std::uint64_t kept = by_variable[v] != nullptr ? by_variable[v]->shards.size() : 0;
    const std::uint64_t shards = arrays_.shards_of(v);
    if (shards <= most_guessed_objects) {
      for (std::uint64_t shard = kept; shard < shards; ++shard) {
        objects.push_back({0, 0, 0, arrays_.object_of(v, shard, step)});
      }
      continue;
    }
    std::set<std::string> written;
    for (std::uint64_t i = 0; i < kept; ++i) {
      written.insert(by_variable[v]->shards[i].segment.name);
    }
    for (const std::string& name : arrays_.left_of(v, step)) {
      if (written.count(name) == 0) {
        objects.push_back({0, 0, 0, name});
      }
    }
  }
}

/// May the array of the times have its name?
bool ZarrPlanner::is_time_free() {
  if (!is_time_free_) {
    is_time_free_ = kept_.documents.count(time_name) == 0 && !arrays_.is_hidden(time_name);
  }
  return *is_time_free_ && !is_time_taken(known());
}

CommitPlan ZarrPlanner::plan_commit(const CommitRequest& request) {
  CommitPlan plan;
  const std::uint64_t step = plan.step = state_.steps;
  objects_.clear();
  planned_.clear();
  for (const Touched& touched : request.touched) {
    const std::uint32_t v = touched.variable;
    arrays_.make(v, touched.tiling);
    if (!arrays_.made(v).is_ours) {
      throw Error(Code::unsupported, file_.path() + ": " + known()[v].name +
                                         ": another program made this array, and Sluice leaves it "
                                         "as it is: use another name");
    }
    if (!known()[v].stepped && arrays_.made(v).has_data) {
      refuse_rewriting(known()[v].name);
    }
    arrays_.set_has_data(v);
    planned_.push_back(plan_shards(touched, step));
    if (!planned_.back().encoded) {
      plan.placements.push_back(place(planned_.back()));
    }
  }
  make_untouched();
  CommitRow row;
  row.time = request.time;
  row.modified_ns = request.modified_ns;
  if (request.is_step) {
    row.step = step;
    row.rows_proof = proof_of_rows(known(), request.touched);
    ++state_.steps;
    state_.has_time = state_.has_time || (!std::isnan(request.time) && is_time_free());
    forget_untouched(step, plan.objects);
  }
  if (request.checksum_words != 0) {
    plan.checksums = place_checksums(request.checksum_words, row);
  }
  rows_.add(row);
  for (const std::string& object : arrays_.take_uncommitted()) {
    plan.objects.push_back({0, 0, 0, object});
  }
  plan.objects.insert(plan.objects.end(), objects_.begin(), objects_.end());
  plan.set_space(known());
  return plan;
}

std::vector<std::uint64_t> ZarrPlanner::place_encoded(std::span<const EncodedTile> tiles) {
  std::vector<std::uint64_t> addresses;
  addresses.reserve(tiles.size());
  const std::vector<Planned*> by_variable = planned_by_variable();
  for (const EncodedTile& tile : tiles) {
    Planned* const planned = by_variable.at(tile.variable);
    const std::uint64_t per_shard = arrays_.tiles_in_shard(tile.variable);
    Shard& shard = planned->shards.at(tile.tile / per_shard);
    if (tile.mask != 0 || shard.next + tile.bytes > shard.segment.length) {
      throw Error(Code::internal, known()[tile.variable].name + ": a tile of " +
                                      std::to_string(tile.bytes) + " bytes has no place");
    }
    if (!shard.index.empty()) {
      shard.index[tile.tile % per_shard] = {shard.next, tile.bytes};
    }
    addresses.push_back(shard.segment.address + shard.next);
    shard.next += tile.bytes;
  }
  return addresses;
}

void ZarrPlanner::make_untouched() {
  const bool makes_all = std::exchange(makes_all_, false);
  for (std::uint32_t v = 0; v < known().size(); ++v) {
    if (makes_all || says_rounding(known()[v])) {
      arrays_.make(v, untouched_tile(known()[v], most_tile_bytes));
    }
  }
}

ZarrPlanner::State ZarrPlanner::state() const {
  State now = state_;
  now.rows = rows_.sizes();
  now.arrays = arrays_.state();
  return now;
}

void ZarrPlanner::drop_steps(std::uint64_t steps, std::int64_t modified_ns) {
  rows_.drop_steps(steps, modified_ns);
  state_.steps = steps;
  arrays_.forget_left();
}

Manifest ZarrPlanner::manifest() const {
  Manifest manifest;
  manifest.ours = true;
  manifest.steps = state_.steps;
  manifest.rows = rows_.size();
  manifest.drops = rows_.drops();
  manifest.checksum_chunk_words = state_.checksum_chunk_words;
  manifest.checksum_chunks = state_.checksum_chunks;
  manifest.has_time = state_.has_time;
  manifest.kept = kept_;
  std::unordered_set<std::string_view> later;
  for (std::uint32_t v = 0; v < known().size(); ++v) {
    if (known()[v].along_steps) {
      continue;  // the times, in a store that was there: known so that nobody puts them
    }
    const PlannedArrays::Made& made = arrays_.made(v);
    if (made.exists && made.is_ours) {
      manifest.arrays.push_back({known()[v], arrays_.array_of(v, state_.steps)});
    } else if (!made.exists) {
      later.insert(known()[v].name);
    }
  }
  rename_conflicting(manifest);
  // An attribute of a variable comes with it.
  for (const model::Attribute& attribute : attributes_) {
    if (later.count(attribute.owner) == 0) {
      manifest.attributes.push_back(attribute);
    }
  }
  return manifest;
}

std::vector<std::pair<std::string, std::uint64_t>> ZarrPlanner::object_sizes() const {
  std::vector<std::pair<std::string, std::uint64_t>> sizes;
  for (const storage::Segment& object : objects_) {
    if (object.file_bytes != 0) {
      sizes.emplace_back(object.name, object.file_bytes);
    }
  }
  for (const Planned& planned : planned_) {
    for (const Shard& shard : planned.shards) {
      if (planned.encoded && shard.next != 0) {
        sizes.emplace_back(shard.segment.name, shard.next);
      }
    }
  }
  return sizes;
}

MetadataUpdate ZarrPlanner::seal() {
  make_untouched();
  MetadataUpdate update;
  update.objects = objects_;
  for (const Planned& planned : planned_) {
    for (const Shard& shard : planned.shards) {
      if (planned.encoded && shard.next == 0) {  // an object without a chunk is no object
        update.objects.push_back({0, 0, 0, shard.segment.name});
      }
      if (!shard.index.empty()) {
        update.fresh.push_back({shard.segment.address, encode_index(shard.index)});
      }
    }
  }
  update.before = rows_.documents();
  if (state_.has_time) {
    // With the first time come the steps before, which have none.
    const bool all = written_.count(std::string(time_name) + "/" + document_name) == 0;
    rows_.add_time_documents(update.before, state_.steps, all);
  }
  for (const auto& [name, text] : documents_of(manifest())) {
    if (name == document_name) {
      update.manifest = {document_name, model::bytes_of(text)};
      continue;
    }
    std::string& written = written_[name];
    if (written != text) {
      written = text;
      arrays_.note_node(node_of(name));
      update.after.push_back({name, model::bytes_of(text)});
    }
  }
  return update;
}

void ZarrPlanner::planned() {
  history_.plan(state());
  rows_.planned();
}

void ZarrPlanner::abandon() {
  makes_all_ = false;
  state_ = history_.abandon();
  rows_.resize(state_.rows);
  arrays_.restore(state_.arrays);
  written_ = untouched_;  // all of Sluice's come again with the next commit
}

}  // namespace sluice::layout::zarr
