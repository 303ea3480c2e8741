#include "layout/zarr/planned_arrays.hpp"

#include <algorithm>
#include <charconv>

#include "layout/netcdf4/rules.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

using model::Definition;
using model::Dims;

namespace {

/// Of a variable whose rows vary: the index of a shard, of 16 bytes a tile, is written with each
/// step.
constexpr std::uint64_t most_tiles_of_varying_shard = 4096;

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

void PlannedArrays::add(const Definition& definition) {
  definitions_.push_back(definition);
  made_.push_back({});
  if (!has_earlier_) {
    made_.back().left.emplace();  // the store's folder was empty when the store was begun
  }
}

std::uint64_t PlannedArrays::tiles_of(std::uint32_t variable) const {
  const Dims& shape = definitions_[variable].shape;
  return shape.volume() == 0 ? 0 : grid_of(shape, made_[variable].tiling).volume();
}

std::uint64_t PlannedArrays::tiles_in_shard(std::uint32_t variable) const {
  const Made& made = made_[variable];
  const Dims grid = grid_of(definitions_[variable].shape, made.tiling);
  return made.shard_rows == 0 ? 1 : made.shard_rows * (grid.volume() / grid[0]);
}

std::uint64_t PlannedArrays::shards_of(std::uint32_t variable) const {
  const std::uint64_t tiles = tiles_of(variable);
  return tiles == 0 ? 0 : (tiles - 1) / tiles_in_shard(variable) + 1;
}

void PlannedArrays::make(std::uint32_t variable, const Tiling& tiling) {
  Made& made = made_[variable];
  if (made.exists) {
    return;
  }
  require_place(definitions_[variable].name);
  made.tiling = tiling.is_regular() ? Tiling(at_least_one(tiling.tile())) : tiling;
  made.exists = true;
  made.shard_rows = 0;
  if (!made.left) {
    for (const auto& [step, names] : objects_from(variable, 0)) {
      uncommitted_.insert(uncommitted_.end(), names.begin(), names.end());
    }
    made.left.emplace();
  }
  if (tiling.is_regular() && tiles_of(variable) > 1 && !whole_objects_) {
    const std::uint64_t rows = grid_of(definitions_[variable].shape, made.tiling)[0];
    const std::uint64_t shards = std::max<std::uint64_t>(1, std::min(rows, writers_));
    made.shard_rows = (rows + shards - 1) / shards;
    if (definitions_[variable].varying) {
      const std::uint64_t along = tiles_of(variable) / rows;
      made.shard_rows = std::min(made.shard_rows,
                                 std::max<std::uint64_t>(1, most_tiles_of_varying_shard / along));
    }
  }
}

Array PlannedArrays::array_of(std::uint32_t variable, std::uint64_t steps) const {
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
  array.shape = d.stepped ? d.shape.with_front(steps) : d.shape;
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

std::string PlannedArrays::object_of(std::uint32_t variable, std::uint64_t shard,
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

void PlannedArrays::load(const Stored& stored, bool is_ours) {
  const Definition& d = stored.definition;
  add(d);
  Made& made = made_.back();
  const int lead = d.stepped ? 1 : 0;
  made.tiling = d.stepped ? stored.array.tiling().without_front() : stored.array.tiling();
  made.exists = true;
  made.is_ours = is_ours;
  if (!made.is_ours) {
    return;
  }
  if (stored.array.sharded) {
    made.shard_rows = stored.array.chunk[lead] / stored.array.inner[lead];
  }
  if (made.shard_rows != 0 && whole_objects_) {
    throw Error(Code::unsupported,
                file_.path() + ": " + d.name +
                    ": has shards, which several ranks write; on an object store it can only be "
                    "read: write a new store");
  }
  if (!d.stepped) {
    find_data(static_cast<std::uint32_t>(made_.size() - 1));
  }
}

/// Was a variable without steps written by an earlier run? One that was has its first object, but
/// for a partial one.
void PlannedArrays::find_data(std::uint32_t variable) {
  constexpr std::uint64_t most_looked_for = 1 << 18;  // a shape may claim any number
  const std::uint64_t shards = shards_of(variable);
  bool& has_data = made_[variable].has_data;
  for (std::uint64_t shard = 0; shard < std::min(shards, most_looked_for) && !has_data; ++shard) {
    has_data = file_.object_bytes(object_of(variable, shard, 0)).has_value();
  }
  if (!has_data && shards > most_looked_for) {
    throw Error(Code::unsupported,
                file_.path() + ": " + definitions_[variable].name + ": none of its first " +
                    std::to_string(most_looked_for) +
                    " objects is there, and it has more: whether it was written is not known: "
                    "write a new store");
  }
}

bool PlannedArrays::is_hidden(const std::string& node) {
  return has_earlier_ && known_nodes_.count(node) == 0 &&
         file_.object_bytes(node + "/" + document_name).has_value();
}

/// With a new array the documents of the groups around it are written too.
void PlannedArrays::require_place(const std::string& name) {
  for (std::size_t at = name.size(); at != std::string::npos; at = name.rfind('/', at - 1)) {
    const std::string node = name.substr(0, at);
    if (is_hidden(node)) {
      throw Error(Code::exists,
                  file_.path() + ": " + name + ": another program has a node at " + node +
                      " that the root of the store does not list: use another name, or let "
                      "zarr.consolidate_metadata() of zarr-python list it");
    }
  }
}

std::map<std::uint64_t, std::vector<std::string>> PlannedArrays::objects_from(
    std::uint32_t variable, std::uint64_t first) {
  const Definition& d = definitions_[variable];
  std::vector<std::string> names;
  try {
    names = file_.names_in(d.name);
  } catch (const Error& e) {
    if (e.code() != Code::not_found) {
      throw;  // else nothing is there: not even the folder
    }
  }
  const bool is_scalar = d.shape.empty() && !d.stepped;
  std::map<std::uint64_t, std::vector<std::string>> objects;
  for (const std::string& name : names) {
    const std::optional<std::uint64_t> of =
        is_scalar && name == "c" ? std::optional(std::uint64_t{0}) : step_of_object(name);
    if (of && *of >= first) {
      objects[*of].push_back(d.name + "/" + name);
    }
  }
  return objects;
}

std::vector<std::string> PlannedArrays::left_of(std::uint32_t variable, std::uint64_t step) {
  Made& made = made_[variable];
  if (!made.left) {
    made.left = objects_from(variable, step);
  }
  auto found = made.left->extract(step);
  return found.empty() ? std::vector<std::string>{} : std::move(found.mapped());
}

void PlannedArrays::forget_left() {
  for (Made& made : made_) {
    made.left.reset();
  }
}

PlannedArrays::State PlannedArrays::state() const {
  State now;
  for (const Made& made : made_) {
    now.exists.push_back(made.exists);
    now.has_data.push_back(made.has_data);
  }
  return now;
}

void PlannedArrays::restore(const State& state) {
  for (std::size_t v = 0; v < made_.size(); ++v) {
    made_[v].exists = v < state.exists.size() && state.exists[v];
    made_[v].has_data = v < state.has_data.size() && state.has_data[v];
    made_[v].left.reset();
  }
}

}  // namespace sluice::layout::zarr
