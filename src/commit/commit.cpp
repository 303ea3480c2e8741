// One commit from blocks to metadata: the way of a step.
#include <algorithm>
#include <bit>
#include <chrono>
#include <numeric>

#include "codec/checksum.hpp"
#include "commit/output.hpp"
#include "exec/agree.hpp"
#include "exec/check.hpp"
#include "model/fill.hpp"

namespace sluice::commit {

using model::Dims;

namespace {

std::int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

Receipt Output::commit(bool is_step, bool is_last) {
  require_open();
  const bool durable = options_.durability == Durability::step ||
                       (is_last && options_.durability == Durability::close);
  bool placed = false;
  try {
    const std::vector<Touch> touched = agree_on_touched(is_step);
    if (!has_work(touched, is_step, is_last)) {
      if (durable && is_last && options_.durability == Durability::close) {
        sync_all();
      }
      forget_step();
      return {steps_, durable};
    }
    check_presence(touched, is_step);
    scatter_all_rows(touched);
    check_decomposition(touched);
    choose_tiles(touched);
    const std::vector<layout::Portion> portions = cut_blocks();
    std::uint64_t words = 0;
    if (options_.checksum) {
      for (const layout::Portion& portion : portions) {
        words += exec::record_words(portion.piece.box.start.rank());
      }
    }
    const auto first_word =
        static_cast<std::uint64_t>(transport_.exclusive_sum(static_cast<std::int64_t>(words)));
    std::int64_t all_words = static_cast<std::int64_t>(words);
    transport_.allreduce({&all_words, 1}, exec::Op::sum);
    placed = true;
    const layout::CommitPlan plan =
        place(touched, is_step, is_last, static_cast<std::uint64_t>(all_words));
    prefill(plan);
    write(plan, portions, first_word, durable);
    publish(durable);
    has_news_ = false;
    for (std::size_t v = 0; v < tiles_.size(); ++v) {
      tiles_[v].made = tiles_[v].made || is_last || touched[v].blocks || touched[v].rows;
    }
    const Receipt receipt{plan.step, durable};
    steps_ += is_step ? 1 : 0;
    forget_step();
    return receipt;
  } catch (...) {
    if (placed) {
      give_up();
    }
    forget_step();
    throw;
  }
}

bool Output::has_work(const std::vector<Touch>& touched, bool is_step, bool is_last) const {
  const bool puts = std::any_of(touched.begin(), touched.end(),
                                [](const Touch& t) { return t.blocks || t.rows; });
  const bool unmade =
      std::any_of(tiles_.begin(), tiles_.end(), [](const Tiles& t) { return !t.made; });
  return is_step || puts || has_news_ || (is_last && unmade);
}

void Output::sync_all() {
  std::exception_ptr failure;
  try {
    sync_own();
  } catch (...) {
    failure = std::current_exception();
  }
  exec::agree(transport_, failure);
}

std::vector<Output::Touch> Output::agree_on_touched(bool is_step) {
  std::vector<Touch> mine(definitions_.size());
  for (const model::Block& block : blocks_) {
    mine[block.variable].blocks = true;
  }
  for (const exec::Rows& rows : rows_) {
    mine[rows.variable].rows = true;
  }
  // The maximum of a value and of its complement tells whether all ranks have the same.
  const std::int64_t kind = is_step ? 1 : 0;
  const auto digest = std::bit_cast<std::int64_t>(description_digest_);
  const auto count = static_cast<std::int64_t>(definitions_.size());
  std::int64_t head[] = {kind, ~kind, count, ~count, digest, ~digest};
  exec::agree(transport_, failure_, head);
  if (head[0] != ~head[1] || head[2] != ~head[3] || head[4] != ~head[5]) {
    throw Error(Code::divergent,
                path_ + ": the ranks disagree: " +
                    (head[0] != ~head[1] ? "some end a step, others flush or close"
                                         : "they defined different variables or attributes"));
  }
  // Only now are the lists known to be equally long on all ranks.
  std::vector<std::int64_t> flags;
  for (const Touch& touch : mine) {
    flags.push_back(touch.blocks ? 1 : 0);
    flags.push_back(touch.rows ? 1 : 0);
  }
  transport_.allreduce(flags, exec::Op::max);
  for (std::size_t v = 0; v < mine.size(); ++v) {
    mine[v] = {flags[2 * v] != 0, flags[2 * v + 1] != 0};
  }
  return mine;
}

void Output::check_presence(const std::vector<Touch>& touched, bool is_step) const {
  for (std::size_t v = 0; v < definitions_.size(); ++v) {
    const model::Definition& d = definitions_[v];
    if (touched[v].blocks && touched[v].rows) {
      throw Error(Code::invalid_argument, path_ + ": put " + d.name +
                                              ": blocks and rows of one variable in one step: "
                                              "use one of them");
    }
    const bool is_missing = is_step && d.stepped && !d.partial && !touched[v].blocks &&
                            !touched[v].rows && d.shape.volume() != 0;
    if (is_missing) {
      throw Error(Code::hole, path_ + ": " + d.name + ": no rank put it in step " +
                                  std::to_string(steps_) + ": put it or define it as partial");
    }
  }
}

void Output::scatter_all_rows(const std::vector<Touch>& touched) {
  std::uint64_t held_bytes = 0;
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (!touched[v].rows) {
      continue;
    }
    std::vector<exec::Rows> calls;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(calls),
                 [&](const exec::Rows& rows) { return rows.variable == v; });
    const std::uint64_t left = options_.budget_bytes - std::min(options_.budget_bytes, held_bytes);
    owned_rows_.push_back(exec::scatter_rows(transport_, definitions_[v], calls, left));
    const exec::OwnedRows& owned = owned_rows_.back();
    held_bytes += owned.bytes.size();
    if (!owned.box.empty()) {
      const Dims zeros = Dims::filled(owned.box.start.rank(), 0);
      blocks_.push_back({v,
                         owned.box,
                         {owned.bytes.data(), definitions_[v].type, owned.box.count, zeros},
                         false});
    }
  }
}

std::uint64_t Output::block_signature() const {
  model::ByteWriter out;
  for (const model::Block& block : blocks_) {
    out.put(block.variable);
    out.put(block.box);
  }
  return codec::checksum(out.take()) | 1;  // never the 0 that stands for "not checked"
}

void Output::check_decomposition(const std::vector<Touch>& touched) {
  if (options_.check == Check::off) {
    return;
  }
  std::vector<exec::VariableShape> shapes;
  std::vector<std::uint32_t> position(definitions_.size(), 0);
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if (touched[v].blocks) {
      position[v] = static_cast<std::uint32_t>(shapes.size());
      shapes.push_back({definitions_[v].name, definitions_[v].shape, definitions_[v].partial});
    }
  }
  std::vector<exec::OwnBlock> own;
  for (const model::Block& block : blocks_) {
    if (touched[block.variable].blocks) {
      own.push_back({position[block.variable], block.box});
    }
  }
  if (options_.check == Check::volume) {
    exec::check_volume(transport_, shapes, own);
    return;
  }
  const std::uint64_t signature = block_signature();
  std::int64_t changed = signature != checked_signature_ ? 1 : 0;
  transport_.allreduce({&changed, 1}, exec::Op::max);
  if (changed != 0) {
    checked_signature_ = 0;
    exec::check_coverage(transport_, shapes, own);
    checked_signature_ = signature;
  }
}

void Output::choose_tiles(const std::vector<Touch>& touched) {
  std::vector<std::uint32_t> open;
  std::size_t dimensions = 0;
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    if ((touched[v].blocks || touched[v].rows) && !tiles_[v].chosen) {
      open.push_back(v);
      dimensions += static_cast<std::size_t>(definitions_[v].shape.rank());
    }
  }
  if (open.empty()) {
    return;
  }
  std::vector<std::int64_t> gcds;
  std::vector<std::int64_t> largest;
  for (const std::uint32_t v : open) {
    layout::Decomposition mine(definitions_[v].shape.rank());
    for (const model::Block& block : blocks_) {
      if (block.variable == v) {
        mine.add(block.box, definitions_[v].shape);
      }
    }
    gcds.insert(gcds.end(), mine.boundary_gcd.begin(), mine.boundary_gcd.end());
    largest.insert(largest.end(), mine.largest_count.begin(), mine.largest_count.end());
  }
  transport_.allreduce(gcds, exec::Op::gcd);
  transport_.allreduce(largest, exec::Op::max);
  std::size_t at = 0;
  for (const std::uint32_t v : open) {
    layout::Decomposition all(definitions_[v].shape.rank());
    for (int d = 0; d < definitions_[v].shape.rank(); ++d, ++at) {
      all.boundary_gcd[d] = static_cast<std::uint64_t>(gcds[at]);
      all.largest_count[d] = static_cast<std::uint64_t>(largest[at]);
    }
    tiles_[v].tile = layout::choose_tile(definitions_[v].shape, definitions_[v].type.bytes, all);
    tiles_[v].chosen = true;
  }
}

std::vector<layout::Portion> Output::cut_blocks() const {
  std::vector<layout::Portion> portions;
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    const model::Definition& d = definitions_[blocks_[b].variable];
    layout::append_portions(b, blocks_[b].box, d.shape, tiles_[blocks_[b].variable].tile,
                            d.type.bytes, portions);
  }
  return portions;
}

layout::CommitPlan Output::place(const std::vector<Touch>& touched, bool is_step, bool is_last,
                                 std::uint64_t words) {
  const auto bytes = exec::on_root(transport_, 0, [&] {
    layout::CommitRequest request;
    request.is_step = is_step;
    request.time = time_;
    request.checksum_words = words;
    request.modified_ns = modified_ns_ = now_ns();
    for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
      if (touched[v].blocks || touched[v].rows) {
        request.touched.push_back({v, tiles_[v].tile});
      }
    }
    if (is_last) {
      planner_->make_all();
    }
    const layout::CommitPlan plan = planner_->plan_commit(request);
    update_ = planner_->seal();
    if (plan.space.length != 0) {
      publisher_->file().preallocate(plan.space.offset, plan.space.length);
    }
    return plan.to_bytes();
  });
  return layout::CommitPlan::from_bytes(bytes);
}

void Output::prefill(const layout::CommitPlan& commit) {
  bool any = false;
  std::exception_ptr failure;
  for (const layout::Placement& placement : commit.placements) {
    const model::Definition& d = definitions_[placement.variable()];
    if (!d.partial || d.fill == 0) {
      continue;  // fresh space reads as zeros
    }
    any = true;
    try {
      if (file_ != nullptr && !failure) {
        fill_tiles(placement, d);
      }
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (any) {
    exec::agree(transport_, failure);
  }
}

void Output::fill_tiles(const layout::Placement& placement, const model::Definition& definition) {
  constexpr std::uint64_t piece_bytes = layout::portion_bytes;
  std::vector<std::byte> filled;
  std::uint64_t number = 0;  // the writers take turns over the pieces of all tiles
  for (std::uint64_t tile = 0; tile < placement.tiles(); ++tile) {
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

void Output::write(const layout::CommitPlan& commit, std::span<const layout::Portion> portions,
                   std::uint64_t first_word, bool synced) {
  std::exception_ptr failure;
  try {
    std::vector<std::uint64_t> sizes;
    sizes.reserve(portions.size());
    for (const layout::Portion& portion : portions) {
      const model::Definition& d = definitions_[blocks_[portion.block].variable];
      sizes.push_back(portion.piece.box.volume() * d.type.bytes);
    }
    const plan::Plan plan = strategy_.plan({topology_, portions, sizes});
    exec::Work work;
    work.definitions = definitions_;
    work.name_hashes = name_hashes_;
    work.blocks = blocks_;
    work.portions = portions;
    work.commit = &commit;
    work.first_word = first_word;
    work.file = file_;
    exec::carry_out(transport_, plan, work, buffers_);
    if (publisher_) {
      publisher_->write_fresh(update_);
    }
    if (synced) {
      sync_own();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  exec::agree(transport_, failure);
}

void Output::sync_own() {
  if (file_ != nullptr) {
    file_->sync();
  }
  if (publisher_ && file_ != &publisher_->file()) {
    publisher_->file().sync();
  }
}

void Output::publish(bool durable) {
  const auto message = exec::on_root(transport_, 0, [&] {
    publisher_->publish(update_, durable, modified_ns_);
    planner_->committed();
    return std::vector<std::byte>{std::byte{publisher_->poisoned()}};
  });
  poisoned_ = message.front() != std::byte{0};
}

void Output::give_up() {
  // Every rank comes here together: the error was agreed on.
  try {
    exec::on_root(transport_, 0, [&] {
      if (publisher_->poisoned()) {
        throw Error(Code::io, "what a crash would leave is not known");
      }
      planner_->abandon();
      // What the failed commit wrote must not shine through where the next one leaves holes.
      publisher_->file().resize(planner_->committed_end());
      return std::vector<std::byte>{};
    });
  } catch (const Error&) {
    poisoned_ = true;
  }
}

}  // namespace sluice::commit
