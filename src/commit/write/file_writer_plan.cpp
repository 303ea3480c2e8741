// Places of a commit, who writes what of it, the fill values under what is written, and what cannot
// be written.
#include <algorithm>
#include <cstring>
#include <utility>

#include "commit/write/file_writer.hpp"
#include "exec/transport/agree.hpp"
#include "model/clock.hpp"
#include "model/fill.hpp"

namespace sluice::commit {

namespace {

/// All raw data of a commit, what is not preallocated too.
layout::Extent space_of(const layout::CommitPlan& placed) {
  std::uint64_t first = layout::absent;
  std::uint64_t last = 0;
  auto include = [&](const layout::Extent& hull) {
    if (hull.length != 0) {
      first = std::min(first, hull.offset);
      last = std::max(last, hull.offset + hull.length);
    }
  };
  for (const layout::Placement& placement : placed.placements) {
    include(placement.hull());
  }
  if (placed.checksums) {
    include(placed.checksums->hull());
  }
  return first == layout::absent ? layout::Extent{} : layout::Extent{first, last - first};
}

/// By variable; nullptr: not in this commit.
std::vector<const layout::Placement*> by_variable(const layout::CommitPlan& placed,
                                                  std::size_t variables) {
  std::vector<const layout::Placement*> all(variables);
  for (const layout::Placement& placement : placed.placements) {
    all[placement.variable()] = &placement;
  }
  return all;
}

}  // namespace

void FileWriter::refuse_together(const layout::Format& format) const {
  if (format.is_store() && storage_.ranks_together() != 0) {
    throw Error(Code::unsupported, path_ + ": format " + format.name +
                                       " is many files, and storage mpiio opens one with all "
                                       "ranks: use storage direct or posix");
  }
}

layout::CommitRequest FileWriter::request_for(const FileCommit& commit, std::uint64_t words) {
  layout::CommitRequest request;
  request.is_step = commit.is_step;
  request.time = commit.time;
  request.checksum_words = words;
  request.modified_ns = modified_ns_ = model::wall_clock_ns();
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (commit.touched[v]) {
      request.touched.push_back({v, tile_of(commit, v), shape_of(commit, v)});
    }
  }
  return request;
}

/// On rank 0: room for what was planned.
void FileWriter::reserve(const layout::CommitPlan& plan) {
  storage::make_objects(storage_, path_, plan.objects);
  if (plan.space.length != 0) {
    storage::File& file = planner_file_ ? *planner_file_ : publisher_->file();
    file.map(plan.objects);
    file.preallocate(plan.space.offset, plan.space.length);
  }
}

layout::CommitPlan FileWriter::place(const FileCommit& commit, std::uint64_t words) {
  const auto bytes = exec::on_root(transport_, 0, [&] {
    if (!pipeline_) {
      publisher_->settle();
    }
    const std::lock_guard lock(planner_mutex_);
    // Encoded variables that this commit touches are made with its tiles, so first.
    const bool encodes = has_encoded(commit);
    if (commit.is_last && !encodes) {
      planner_->make_all();
    }
    const layout::CommitPlan plan = planner_->plan_commit(request_for(commit, words));
    if (commit.is_last && encodes) {
      planner_->make_all();
    }
    if (!encodes) {
      update_ = planner_->seal();
    }
    reserve(plan);
    std::vector<std::byte> message = plan.to_bytes();
    const std::int64_t took_ns = model::to_ns(std::exchange(took_s_, 0));
    const auto took = std::as_bytes(std::span(&took_ns, 1));
    message.insert(message.end(), took.begin(), took.end());
    chose_s_ = model::now_s();  // nobody writes before
    return message;
  });
  layout::CommitPlan plan = layout::CommitPlan::from_bytes(bytes);
  std::memcpy(&root_took_ns_, bytes.data() + bytes.size() - sizeof root_took_ns_,
              sizeof root_took_ns_);
  if (file_ != nullptr) {
    file_->map(plan.objects);
  }
  return plan;
}

plan::Plan FileWriter::make_plan(const FileCommit& commit, const layout::CommitPlan& placed,
                                 std::span<const layout::Portion> portions,
                                 const exec::EncodedResult& encoded) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(portions.size());
  std::int64_t bytes = 0;
  std::int64_t runs = 0;
  const auto placements = by_variable(placed, definitions_.size());
  for (const layout::Portion& portion : portions) {
    const std::uint32_t variable = commit.blocks[portion.block].variable;
    sizes.push_back(portion.piece.box.volume() * definitions_[variable].type.bytes);
    bytes += static_cast<std::int64_t>(sizes.back());
    if (strategy_.chooses && placements[variable] != nullptr) {
      runs += static_cast<std::int64_t>(
          layout::run_count(*placements[variable], portion.piece, portion.piece.box));
    }
  }
  plan::Input input{topology_, portions, sizes, space_of(placed), choice_, 0};
  plan::Plan plan =
      strategy_.chooses ? choose_plan(commit, input, bytes, runs) : strategy_.plan(input);
  if (commit.explain != nullptr) {
    explain(commit, placed, plan, input, encoded);
  }
  return plan;
}

/// Collective, but where the blocks lie as they did when their load was last summed up. Of this
/// rank's bytes in so many runs. `input` gets what the choice goes by. Rank 0's clock counts for
/// all, so that all choose the same.
plan::Plan FileWriter::choose_plan(const FileCommit& commit, plan::Input& input, std::int64_t bytes,
                                   std::int64_t runs) {
  if (commit.blocks_number == 0 || commit.blocks_number != load_.blocks_number) {
    load_.blocks_number = 0;
    std::int64_t sums[] = {bytes, runs};
    transport_.allreduce(sums, exec::Op::sum);
    load_ = {commit.blocks_number, sums[0], sums[1]};
  }
  input.bytes = static_cast<std::uint64_t>(load_.bytes);
  input.mean_run_bytes =
      static_cast<std::uint64_t>(load_.bytes / std::max<std::int64_t>(1, load_.runs));
  input.rates = rates_;
  const bool has_data = load_.bytes != 0;
  plan::Plan plan;
  if (commit.tuner != nullptr) {
    // The first one makes memory and the file's first space, the last one writes what is left.
    const bool is_sample = has_data && has_planned_data_ && !commit.is_last && !has_encoded(commit);
    commit.tuner->note(model::from_ns(root_took_ns_));
    plan = plan::plan_of(input, commit.tuner->decide(input, is_sample));
  } else {
    plan = strategy_.plan(input);
  }
  has_planned_data_ = has_planned_data_ || has_data;
  if (commit.stats != nullptr && has_data) {
    commit.stats->choose(plan.reason);
  }
  return plan;
}

void FileWriter::explain(const FileCommit& commit, const layout::CommitPlan& placed,
                         const plan::Plan& plan, const plan::Input& input,
                         const exec::EncodedResult& encoded) const {
  const auto placements = by_variable(placed, definitions_.size());
  plan::Totals totals = plan::totals_of(
      plan, input, [&](const layout::Portion& portion) -> auto& {
        return *placements[commit.blocks[portion.block].variable];
      });
  totals.moved_bytes += encoded.moved_bytes;
  totals.written_bytes += encoded.written_bytes;
  totals.files = transport_.rank() == 0 ? 1 : 0;
  totals.writers = file_ != nullptr ? 1 : 0;
  (*commit.explain)(totals);
}

void FileWriter::prefill(const layout::CommitPlan& plan, const plan::Plan& who) {
  if (pipeline_) {
    prefill_in_background(plan, who);
    return;
  }
  bool any = false;
  std::exception_ptr failure;
  for (const layout::Placement& placement : plan.placements) {
    const model::Definition& d = definitions_[placement.variable()];
    if (!d.partial || d.fill.empty()) {
      continue;  // fresh space reads as zeros
    }
    any = true;
    try {
      if (file_ != nullptr && !failure) {
        fill_tiles(placement, d, who);
      }
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (any) {
    exec::agree(transport_, failure);
  }
}

void FileWriter::fill_tiles(const layout::Placement& placement, const model::Definition& definition,
                            const plan::Plan& who) {
  constexpr std::uint64_t piece_bytes = layout::portion_bytes;
  std::vector<std::byte> filled;
  if (who.flow == plan::Flow::two_phase || who.flow == plan::Flow::async_two_phase) {
    fill_own_tiles(*file_, placement, definition, who.tiles);
    return;
  }
  std::uint64_t number = 0;  // the writers take turns over the pieces of all tiles
  for (std::uint64_t tile = 0; tile < placement.tiles(); ++tile) {
    if (placement.address(tile) == layout::absent) {
      continue;  // beyond the rows of this step
    }
    for (std::uint64_t at = 0; at < placement.tile_bytes(); at += piece_bytes, ++number) {
      if (number % writers_ != writer_index_) {
        continue;
      }
      filled.resize(std::min(piece_bytes, placement.tile_bytes() - at));
      model::fill(filled, definition.type, definition.fill);
      file_->write(placement.address(tile) + at, filled);
    }
  }
}

void FileWriter::fill_own_tiles(storage::File& file, const layout::Placement& placement,
                                const model::Definition& definition,
                                const plan::TileMap& map) const {
  // By the owners of the bytes, so that no tile is touched by two. Pieces begin where an element
  // does: those at the border of two owners are cut from a longer filled one.
  const std::uint64_t element = placement.element_bytes();
  std::vector<std::byte> filled;
  for (std::uint64_t tile = 0; tile < placement.tiles(); ++tile) {
    const std::uint64_t begin = placement.address(tile);
    if (begin == layout::absent) {
      continue;
    }
    for (std::uint64_t at = 0; at < placement.tile_bytes();) {
      const plan::Stretch stretch = map.stretch_at(begin + at);
      const std::uint64_t length =
          std::min({stretch.length, placement.tile_bytes() - at, layout::portion_bytes});
      if (map.writers()[stretch.writer] == transport_.rank()) {
        const std::uint64_t before = at % element;
        filled.resize((before + length + element - 1) / element * element);
        model::fill(filled, definition.type, definition.fill);
        file.write(begin + at, std::span(filled).subspan(before, length));
      }
      at += length;
    }
  }
}

}  // namespace sluice::commit
