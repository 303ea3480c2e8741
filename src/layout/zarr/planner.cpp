#include "layout/zarr/planner.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <utility>

#include "layout/netcdf4/rules.hpp"
#include "layout/zarr/fill_value.hpp"
#include "model/round_up.hpp"

namespace sluice::layout::zarr {

using model::Definition;
using model::Dims;

namespace {

/// Beyond any manifest, whose bytes have the addresses from 0 on.
constexpr std::uint64_t first_address = 1ULL << 40;
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t fewest_checksum_words = 512;
/// Of a variable whose rows vary: the index of a shard, of 16 bytes a tile, is written with each
/// step.
constexpr std::uint64_t most_tiles_of_varying_shard = 4096;
/// A variable with more objects a step has those that are to be removed looked up, not guessed.
constexpr std::uint64_t most_guessed_objects = 1024;

/// No dimension 0: a chunk has elements, also where the array has none.
Dims at_least_one(Dims dims) {
  for (int d = 0; d < dims.rank(); ++d) {
    dims[d] = std::max<std::uint64_t>(1, dims[d]);
  }
  return dims;
}

/// The first number in a name like "c.5.0".
std::optional<std::uint64_t> step_of_object(const std::string& name) {
  std::uint64_t step = 0;
  const char* const first = name.data() + std::min<std::size_t>(2, name.size());
  const char* const end = name.data() + name.size();
  const auto [rest, problem] = std::from_chars(first, end, step);
  const bool is_object =
      name.rfind("c.", 0) == 0 && problem == std::errc() && (rest == end || *rest == '.');
  return is_object ? std::optional(step) : std::nullopt;
}

}  // namespace

ZarrPlanner::ZarrPlanner(storage::File& file, const PlannerOptions& options)
    : file_(file), options_(options), next_address_(first_address) {
  options_.alignment_bytes = model::round_up(options.alignment_bytes, page_bytes);
}

std::unique_ptr<ZarrPlanner> ZarrPlanner::create(storage::File& file,
                                                 const PlannerOptions& options) {
  return std::unique_ptr<ZarrPlanner>(new ZarrPlanner(file, options));
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

void ZarrPlanner::define(const Definition& definition) { add(definition); }

void ZarrPlanner::add(const Definition& definition) {
  definitions_.push_back(definition);
  made_.push_back({});
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

std::uint64_t ZarrPlanner::tiles_of(std::uint32_t variable) const {
  const Dims& shape = definitions_[variable].shape;
  return shape.volume() == 0 ? 0 : grid_of(shape, made_[variable].tiling).volume();
}

std::uint64_t ZarrPlanner::tiles_in_shard(std::uint32_t variable) const {
  const Made& made = made_[variable];
  const Dims grid = grid_of(definitions_[variable].shape, made.tiling);
  return made.shard_rows == 0 ? 1 : made.shard_rows * (grid.volume() / grid[0]);
}

std::uint64_t ZarrPlanner::shards_of(std::uint32_t variable) const {
  const std::uint64_t tiles = tiles_of(variable);
  return tiles == 0 ? 0 : (tiles - 1) / tiles_in_shard(variable) + 1;
}

void ZarrPlanner::make(std::uint32_t variable, const Tiling& tiling) {
  Made& made = made_[variable];
  if (made.exists) {
    return;
  }
  made.tiling = tiling.is_regular() ? Tiling(at_least_one(tiling.tile())) : tiling;
  made.exists = true;
  made.left.emplace();  // the folder is cleared
  made.shard_rows = 0;
  folders_to_clear_.insert(definitions_[variable].name);
  if (tiling.is_regular() && tiles_of(variable) > 1 && !options_.whole_objects) {
    const std::uint64_t rows = grid_of(definitions_[variable].shape, made.tiling)[0];
    const std::uint64_t shards = std::max<std::uint64_t>(1, std::min(rows, options_.writers));
    made.shard_rows = (rows + shards - 1) / shards;
    if (definitions_[variable].varying) {
      const std::uint64_t along = tiles_of(variable) / rows;
      made.shard_rows = std::min(made.shard_rows,
                                 std::max<std::uint64_t>(1, most_tiles_of_varying_shard / along));
    }
  }
}

Array ZarrPlanner::array_of(std::uint32_t variable) const {
  const Definition& d = definitions_[variable];
  const Made& made = made_[variable];
  Array array;
  array.type = d.type;
  array.fill = d.hole_fill();
  array.filters = pipeline_in_zarr(pipeline_of(d));
  array.sharded = made.shard_rows != 0;
  array.index_first = true;
  const Dims& tile = made.tiling.tile();
  Dims chunk = tile;
  if (array.sharded) {
    const Dims grid = grid_of(d.shape, made.tiling);
    for (int i = 0; i < chunk.rank(); ++i) {
      chunk[i] *= i == 0 ? made.shard_rows : grid[i];
    }
  }
  array.shape = d.stepped ? d.shape.with_front(state_.steps) : d.shape;
  array.chunk = d.stepped ? chunk.with_front(1) : chunk;
  array.inner = d.stepped ? tile.with_front(1) : tile;
  array.lengths = made.tiling.lengths();
  if (d.stepped && !array.lengths.empty()) {
    array.lengths.insert(array.lengths.begin(), std::vector<std::uint64_t>{});
  }
  for (const netcdf4::Use& use : netcdf4::uses_of(d)) {
    array.dimensions.push_back(use.name);
  }
  return array;
}

std::string ZarrPlanner::object_of(std::uint32_t variable, std::uint64_t shard,
                                   std::uint64_t step) const {
  const Definition& d = definitions_[variable];
  const Made& made = made_[variable];
  Dims at = Dims::filled(d.shape.rank(), 0);
  if (!at.empty()) {
    at[0] = shard;
  }
  if (made.shard_rows == 0) {  // every tile is an object
    const Dims grid = grid_of(d.shape, made.tiling);
    std::uint64_t rest = shard;
    for (int i = at.rank() - 1; i >= 0; --i) {
      at[i] = rest % grid[i];
      rest /= grid[i];
    }
  }
  return d.name + "/" + Array().object_name(d.stepped ? at.with_front(step) : at);
}

ZarrPlanner::Planned ZarrPlanner::plan_shards(const Touched& touched, std::uint64_t step) {
  const std::uint32_t variable = touched.variable;
  const Definition& d = definitions_[variable];
  const Made& made = made_[variable];
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
  const std::uint64_t per_shard = tiles_in_shard(variable);
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
    shard.segment.name = object_of(variable, first / per_shard, step);
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
  const Definition& d = definitions_[planned.variable];
  const Made& made = made_[planned.variable];
  const std::uint64_t tile_bytes = made.tiling.tile().volume() * d.type.bytes;
  const std::uint64_t per_shard = tiles_in_shard(planned.variable);
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
  std::vector<Planned*> by_variable(definitions_.size(), nullptr);
  for (Planned& planned : planned_) {
    by_variable[planned.variable] = &planned;
  }
  return by_variable;
}

void ZarrPlanner::forget_untouched(std::uint64_t step, std::vector<storage::Segment>& objects) {
  const std::vector<Planned*> by_variable = planned_by_variable();
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (!definitions_[v].stepped || !made_[v].exists) {
      continue;
    }
    const std::uint64_t kept = by_variable[v] != nullptr ? by_variable[v]->shards.size() : 0;
    const std::uint64_t shards = shards_of(v);
    if (shards <= most_guessed_objects) {
      for (std::uint64_t shard = kept; shard < shards; ++shard) {
        objects.push_back({0, 0, 0, object_of(v, shard, step), false});
      }
      continue;
    }
    std::set<std::string> written;
    for (std::uint64_t i = 0; i < kept; ++i) {
      written.insert(by_variable[v]->shards[i].segment.name);
    }
    for (const std::string& name : left_of(v, step)) {
      if (written.count(name) == 0) {
        objects.push_back({0, 0, 0, name, false});
      }
    }
  }
}

/// The objects of step `step`, or of a later one, that are in the store belong to no commit.
std::vector<std::string> ZarrPlanner::left_of(std::uint32_t variable, std::uint64_t step) {
  Made& made = made_[variable];
  const std::string& folder = definitions_[variable].name;
  if (!made.left) {
    std::vector<std::string> names;
    try {
      names = file_.names_in(folder);
    } catch (const Error& e) {
      if (e.code() != Code::not_found) {
        throw;  // else nothing is left: not even the folder is there
      }
    }
    made.left.emplace();
    for (const std::string& name : names) {
      const std::optional<std::uint64_t> of = step_of_object(name);
      if (of && *of >= step) {
        (*made.left)[*of].push_back(folder + "/" + name);
      }
    }
  }
  auto found = made.left->extract(step);
  return found.empty() ? std::vector<std::string>{} : std::move(found.mapped());
}

CommitPlan ZarrPlanner::plan_commit(const CommitRequest& request) {
  CommitPlan plan;
  const std::uint64_t step = plan.step = state_.steps;
  objects_.clear();
  planned_.clear();
  for (const Touched& touched : request.touched) {
    const std::uint32_t v = touched.variable;
    make(v, touched.tiling);
    if (!made_[v].is_ours) {
      throw Error(Code::unsupported, file_.path() + ": " + definitions_[v].name +
                                         ": another program made this array, and Sluice leaves it "
                                         "as it is: use another name");
    }
    if (!definitions_[v].stepped && made_[v].has_data) {
      refuse_rewriting(definitions_[v].name);
    }
    made_[v].has_data = true;
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
    row.rows_proof = proof_of_rows(definitions_, request.touched);
    ++state_.steps;
    const bool is_name_free = kept_.documents.count(time_name) == 0 &&
                              std::none_of(definitions_.begin(), definitions_.end(),
                                           [](const auto& d) { return d.name == time_name; });
    state_.has_time = state_.has_time || (is_name_free && !std::isnan(request.time));
    forget_untouched(step, plan.objects);
  }
  if (request.checksum_words != 0) {
    plan.checksums = place_checksums(request.checksum_words, row);
  }
  first_new_row_ = std::min(first_new_row_, rows_.size());
  rows_.push_back(row);
  state_.rows = rows_.size();
  for (const std::string& folder : folders_to_clear_) {
    plan.objects.insert(plan.objects.begin(), storage::Segment{0, 0, 0, folder, true});
  }
  folders_to_clear_.clear();
  plan.objects.insert(plan.objects.end(), objects_.begin(), objects_.end());
  plan.set_space(definitions_);
  return plan;
}

std::vector<std::uint64_t> ZarrPlanner::place_encoded(std::span<const EncodedTile> tiles) {
  std::vector<std::uint64_t> addresses;
  addresses.reserve(tiles.size());
  const std::vector<Planned*> by_variable = planned_by_variable();
  for (const EncodedTile& tile : tiles) {
    Planned* const planned = by_variable.at(tile.variable);
    const std::uint64_t per_shard = tiles_in_shard(tile.variable);
    Shard& shard = planned->shards.at(tile.tile / per_shard);
    if (tile.mask != 0 || shard.next + tile.bytes > shard.segment.length) {
      throw Error(Code::internal, definitions_[tile.variable].name + ": a tile of " +
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
  if (!std::exchange(makes_all_, false)) {
    return;
  }
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    make(v, untouched_tile(definitions_[v], most_tile_bytes));
  }
}

}  // namespace sluice::layout::zarr
