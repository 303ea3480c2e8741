#include "commit/write/file_variables.hpp"

#include <algorithm>

#include "codec/checksum.hpp"
#include "codec/plugins.hpp"
#include "exec/transport/agree.hpp"
#include "layout/block_grid.hpp"
#include "layout/chunking.hpp"
#include "model/round_up.hpp"

namespace sluice::commit {

using model::Dims;

namespace {

/// The start of a variable, so that direct writes may start there too if its address allows it.
constexpr std::uint64_t provisional_alignment_bytes = 4096;

}  // namespace

void FileVariables::read_from(model::ByteReader& in) {
  format_ = &layout::format_named(in.get_string());
  steps_ = in.get<std::uint64_t>();
  const auto count = in.get<std::size_t>();
  for (std::size_t i = 0; i < count; ++i) {
    model::Definition d = model::Definition::read_from(in);
    tiles_.push_back({layout::Tiling::read_from(in), true, true, layout::pipeline_in(*format_, d)});
    name_hashes_.push_back(codec::checksum(d.name));
    definitions_.push_back(std::move(d));
  }
}

void FileVariables::define(const model::Definition& definition) {
  definitions_.push_back(definition);
  name_hashes_.push_back(codec::checksum(definition.name));
  codec::Pipeline pipeline = layout::pipeline_in(*format_, definition);
  const bool is_tiled =
      format_->tiled && (definition.stepped || !pipeline.empty() || format_->most_tile_bytes != 0);
  // The values of a plugin are settled when the tile is.
  const bool is_chosen = !definition.chunk.empty() && !codec::has_plugin(pipeline);
  tiles_.push_back(is_tiled ? Tiles{layout::bounded_chunk(definition), is_chosen, false}
                            : Tiles{definition.shape, true, false});
  tiles_.back().pipeline = std::move(pipeline);
}

bool FileVariables::has_unmade() const {
  return std::any_of(tiles_.begin(), tiles_.end(), [](const Tiles& t) { return !t.made; });
}

bool FileVariables::are_known_steps(const FileCommit& commit) const {
  for (std::size_t v = 0; v < tiles_.size(); ++v) {
    if (commit.touched[v] && !(tiles_[v].made && definitions_[v].stepped)) {
      return false;
    }
  }
  return true;
}

FileVariables::State FileVariables::state() const {
  State state{steps_, {}};
  for (const Tiles& tiles : tiles_) {
    state.made.push_back(tiles.made);
  }
  return state;
}

void FileVariables::restore(const State& state) {
  steps_ = state.steps;
  for (std::size_t v = 0; v < tiles_.size(); ++v) {
    tiles_[v].made = v < state.made.size() && state.made[v];
  }
}

void FileVariables::note(const FileCommit& commit) {
  for (std::size_t v = 0; v < tiles_.size(); ++v) {
    tiles_[v].made = tiles_[v].made || commit.is_last || commit.touched[v];
  }
  steps_ += commit.is_step ? 1 : 0;
}

void FileVariables::choose_tiles(exec::Transport& transport, const FileCommit& commit,
                                 const Options& options) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (commit.touched[v] && !tiles_[v].chosen) {
      open.push_back(v);
    }
  }
  if (open.empty()) {
    return;
  }
  std::vector<std::size_t> place(definitions_.size(), open.size());
  std::vector<layout::Decomposition> own;
  for (const std::uint32_t v : open) {
    place[v] = own.size();
    own.emplace_back(definitions_[v].shape.rank());
  }
  for (const model::Block& block : commit.blocks) {
    if (place[block.variable] < own.size()) {
      own[place[block.variable]].add(block.box, shape_of(commit, block.variable));
    }
  }
  std::vector<std::int64_t> gcds;
  std::vector<std::int64_t> largest;
  for (const layout::Decomposition& mine : own) {
    gcds.insert(gcds.end(), mine.boundary_gcd.begin(), mine.boundary_gcd.end());
    largest.insert(largest.end(), mine.largest_count.begin(), mine.largest_count.end());
  }
  transport.allreduce(gcds, exec::Op::gcd);
  transport.allreduce(largest, exec::Op::max);
  std::size_t at = 0;
  std::vector<std::uint32_t> unequal;
  for (const std::uint32_t v : open) {
    layout::Decomposition all(definitions_[v].shape.rank());
    for (int d = 0; d < definitions_[v].shape.rank(); ++d, ++at) {
      all.boundary_gcd[d] = static_cast<std::uint64_t>(gcds[at]);
      all.largest_count[d] = static_cast<std::uint64_t>(largest[at]);
    }
    const std::uint64_t step_bytes = shape_of(commit, v).volume() * definitions_[v].type.bytes;
    choose_tile(v, all, step_bytes, options.budget_bytes);
    if (codec::has_plugin(tiles_[v].pipeline)) {
      settle_filters(transport, v);
    }
    tiles_[v].chosen = true;
    if (options.rectilinear != Rectilinear::never && may_be_rectilinear(v, all)) {
      unequal.push_back(v);
    }
  }
  choose_rectilinear(transport, commit, unequal, options);
}

/// Collective. The values that rank 0's libhdf5 makes of those that a plugin was asked for.
void FileVariables::settle_filters(exec::Transport& transport, std::uint32_t variable) {
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    for (const codec::Filter& filter :
         layout::settled_in(*format_, definitions_[variable], tiles_[variable].tiling.tile())) {
      out.put(filter.parameters);
    }
  });
  for (codec::Filter& filter : tiles_[variable].pipeline) {
    filter.parameters = in.get_vector<std::uint32_t>();
  }
}

bool FileVariables::may_be_rectilinear(std::uint32_t variable,
                                       const layout::Decomposition& all) const {
  const model::Definition& d = definitions_[variable];
  bool is_unequal = false;
  for (int i = 0; i < d.shape.rank(); ++i) {
    is_unequal =
        is_unequal || (all.boundary_gcd[i] != 0 && all.boundary_gcd[i] != all.largest_count[i]);
  }
  return is_unequal && format_->rectilinear && !d.varying && !d.partial && d.chunk.empty();
}

void FileVariables::choose_rectilinear(exec::Transport& transport, const FileCommit& commit,
                                       const std::vector<std::uint32_t>& variables,
                                       const Options& options) {
  if (variables.empty()) {
    return;
  }
  layout::BlockGrids grids(variables.size());
  for (const model::Block& block : commit.blocks) {
    const auto at = std::find(variables.begin(), variables.end(), block.variable);
    if (at != variables.end()) {
      grids.add(static_cast<std::size_t>(at - variables.begin()), block.box);
    }
  }
  const auto gathered = transport.gather(grids.to_bytes(), 0);
  auto in = exec::on_root(transport, [&](model::ByteWriter& out) {
    const layout::BlockGrids all(gathered);
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const model::Definition& d = definitions_[variables[i]];
      layout::GridLimits limits;
      limits.most_bytes = std::min(limits.most_bytes, options.budget_bytes / 4);
      limits.least_mean_bytes =
          options.rectilinear == Rectilinear::always ? 0 : layout::smallest_aligned_tile_bytes;
      all.tiling(i, d.shape, d.type.bytes, limits)
          .value_or(tiles_[variables[i]].tiling)
          .write_to(out);
    }
  });
  for (const std::uint32_t v : variables) {
    tiles_[v].tiling = layout::Tiling::read_from(in);
  }
}

void FileVariables::choose_tile(std::uint32_t variable, layout::Decomposition all,
                                std::uint64_t step_bytes, std::uint64_t budget_bytes) {
  const model::Definition& d = definitions_[variable];
  Tiles& tiles = tiles_[variable];
  const bool encodes = !tiles.pipeline.empty();
  if (!d.stepped && !encodes) {
    all = layout::Decomposition(all.boundary_gcd.rank());  // counted in rows, in any case
  }
  if (!d.chunk.empty()) {
    tiles.tiling = layout::bounded_chunk(d);
    return;
  }
  const bool is_bounded = format_->is_store() || d.partial;
  const std::uint64_t least_bytes = is_bounded ? layout::least_tile_bytes(d) : 0;
  Dims tile = encodes ? layout::choose_encoded_tile(d.shape, d.type.bytes, all, least_bytes)
                      : layout::choose_plain_tile(d, all, format_->most_tile_bytes);
  if (encodes) {
    layout::limit_rows(tile, d.type.bytes, std::max(budget_bytes / 4, least_bytes));
  }
  if (d.varying) {
    layout::limit_rows(tile, d.type.bytes,
                       layout::most_varying_tile_bytes(step_bytes, encodes, format_->is_store()));
  }
  tiles.tiling = tile;
}

const Dims& FileVariables::shape_of(const FileCommit& commit, std::uint32_t variable) const {
  const bool varies = variable < commit.shapes.size() && definitions_[variable].varying;
  return varies ? commit.shapes[variable] : definitions_[variable].shape;
}

layout::Tiling FileVariables::tiling_of(const FileCommit& commit, std::uint32_t variable) const {
  return format_->tiled ? tiles_[variable].tiling : layout::Tiling(shape_of(commit, variable));
}

StagedCommit FileVariables::cut_blocks(const FileCommit& commit) const {
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (commit.touched[v]) {
      layout::check_tiles(*format_, definitions_[v], shape_of(commit, v), tiling_of(commit, v));
    }
  }
  StagedCommit staged;
  for (std::uint32_t b = 0; b < commit.blocks.size(); ++b) {
    const model::Block& block = commit.blocks[b];
    const model::Definition& d = definitions_[block.variable];
    const Dims& shape = format_->tiled ? d.shape : shape_of(commit, block.variable);
    layout::append_portions(
        b, block.box, shape, tiling_of(commit, block.variable), d.type.bytes,
        tiles_[block.variable].pipeline.empty() ? staged.plain : staged.encoded);
  }
  return staged;
}

bool FileVariables::has_encoded(const FileCommit& commit) const {
  for (std::size_t v = 0; v < tiles_.size(); ++v) {
    if (commit.touched[v] && !tiles_[v].pipeline.empty()) {
      return true;
    }
  }
  return false;
}

std::vector<exec::EncodedVariable> FileVariables::encoded(const FileCommit& commit) const {
  std::vector<exec::EncodedVariable> variables;
  for (std::uint32_t v = 0; v < tiles_.size(); ++v) {
    if (commit.touched[v] && !tiles_[v].pipeline.empty()) {
      // Tiles count from the slowest dimension on: fewer rows leave their numbers as they are.
      variables.push_back({v, shape_of(commit, v), tiles_[v].tiling, tiles_[v].pipeline});
    }
  }
  return variables;
}

layout::CommitRequest FileVariables::request_for(const FileCommit& commit,
                                                 std::uint64_t words) const {
  layout::CommitRequest request;
  request.is_step = commit.is_step;
  request.is_last = commit.is_last;
  request.time = commit.time;
  request.checksum_words = words;
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (commit.touched[v]) {
      request.touched.push_back({v, tiling_of(commit, v), shape_of(commit, v)});
      if (v < commit.parts.size()) {
        request.touched.back().parts = commit.parts[v];
      }
    }
  }
  return request;
}

layout::CommitPlan FileVariables::provisional_plan(const FileCommit& commit,
                                                   std::uint64_t words) const {
  layout::CommitPlan plan;
  std::uint64_t at = 0;
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    const model::Definition& d = definitions_[v];
    if (!commit.touched[v] || !tiles_[v].pipeline.empty()) {
      continue;
    }
    const Dims& shape = shape_of(commit, v);
    const layout::Tiling tiling = tiling_of(commit, v);
    const Dims& tile = tiling.tile();
    const Dims grid = layout::grid_of(shape, tiling);
    std::vector<std::uint64_t> addresses(shape.volume() == 0 ? 0 : grid.volume());
    at = model::round_up(at, provisional_alignment_bytes);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      addresses[i] = at;
      const Dims& own = tiling.is_regular() ? tile : tiling.whole(grid, i).count;
      at += own.volume() * d.type.bytes;
    }
    plan.placements.emplace_back(v, d.type.bytes, shape, tiling, addresses);
  }
  if (words != 0) {
    at = model::round_up(at, provisional_alignment_bytes);
    plan.checksums.emplace(layout::checksum_variable, static_cast<std::uint32_t>(sizeof words),
                           Dims{words}, Dims{words}, std::span(&at, 1));
  }
  return plan;
}

}  // namespace sluice::commit
