// Commits whose compressed variables are encoded behind the call. The ranks bring all bytes to
// stand-in addresses, and are done; sizes, places and the writing follow in threads of the library.
#include <algorithm>
#include <map>

#include "commit/write/file_writer.hpp"
#include "exec/encode_pool.hpp"
#include "exec/transport/agree.hpp"
#include "model/clock.hpp"

namespace sluice::commit {

using model::Dims;

namespace {

/// Where a variable begins, so that direct writes may begin there too if its place allows it.
constexpr std::uint64_t stand_in_alignment_bytes = 4096;
/// Of a commit that is encoded: the staging has another half, what is packed ahead the rest.
constexpr std::uint64_t encoding_share_of_budget = 4;

std::uint64_t round_up_to(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

/// On rank 0: while a commit waits to be planned, the planner hears of what belongs behind it when
/// its turn has come.
void FileWriter::tell_planner(std::function<void(layout::Planner&)> what) {
  if (!planner_) {
    return;
  }
  if (pipeline_ && !pipeline_->has_placed_all()) {
    const std::lock_guard lock(planner_mutex_);
    waiting_to_be_told_.emplace_back(pipeline_->begun() + 1, std::move(what));
    return;
  }
  const std::lock_guard lock(planner_mutex_);
  tell_planner_what_waits(layout::absent);
  what(*planner_);
}

/// With the planner's mutex: all that belongs in front of commit `number`.
void FileWriter::tell_planner_what_waits(std::uint64_t number) {
  while (!waiting_to_be_told_.empty() && waiting_to_be_told_.front().first <= number) {
    const auto what = std::move(waiting_to_be_told_.front().second);
    waiting_to_be_told_.pop_front();
    what(*planner_);
  }
}

/// Until the planner is ready for another commit. Every rank comes, so that those between nodes
/// bring each other's messages.
void FileWriter::wait_until_placed() {
  if (last_behind_ == 0) {
    return;
  }
  const double began_s = model::now_s();
  const bool waits_for_answer = file_ != nullptr && !pipeline_->tracker().is_local();
  pipeline_->wait_until(
      [&] {
        // In this order: a message is written before its round counts as placed. Rank 0 must not go
        // on with one in its hands, for the others wait for it here and not where rank 0 goes.
        return pipeline_->has_placed_all() && pipeline_->tracker().has_sent_messages() &&
               (!waits_for_answer || answered_.load() >= last_behind_);
      },
      "the sizes and places of encoded tiles");
  waited_s_ += model::now_s() - began_s;
  if (planner_) {
    const std::lock_guard lock(planner_mutex_);
    tell_planner_what_waits(layout::absent);
  }
}

/// Everything that is not encoded, one variable behind the other, and the checksum words.
layout::CommitPlan FileWriter::stand_ins(const FileCommit& commit, std::uint64_t words) const {
  layout::CommitPlan plan;
  std::uint64_t at = 0;
  for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
    const model::Definition& d = definitions_[v];
    if (!commit.touched[v] || !tiles_[v].pipeline.empty()) {
      continue;
    }
    const Dims& tile = tile_of(commit, v);
    const Dims grid = layout::grid_of(d.shape, tile);
    std::vector<std::uint64_t> addresses(d.shape.volume() == 0 ? 0 : grid.volume(), layout::absent);
    // A step with fewer rows has the tiles of those rows only.
    std::size_t present = addresses.size();
    if (d.varying && present != 0) {
      const std::uint64_t rows = (shape_of(commit, v)[0] + tile[0] - 1) / tile[0];
      present = rows * (present / grid[0]);
    }
    at = round_up_to(at, stand_in_alignment_bytes);
    for (std::size_t i = 0; i < present; ++i) {
      addresses[i] = at;
      at += tile.volume() * d.type.bytes;
    }
    plan.placements.emplace_back(v, d.type.bytes, d.shape, tile, addresses);
  }
  if (words != 0) {
    at = round_up_to(at, stand_in_alignment_bytes);
    plan.checksums.emplace(layout::checksum_variable, static_cast<std::uint32_t>(sizeof words),
                           Dims{words}, Dims{words}, std::span(&at, 1));
  }
  return plan;
}

/// Collective. Nothing where the commit is written as its call goes on: where nothing is encoded,
/// or too much for memory between nodes, where a round needs all ranks.
std::shared_ptr<const FileWriter::Behind> FileWriter::plan_behind(const FileCommit& commit,
                                                                  const Staged& staged) {
  if (!pipeline_ || !has_encoded(commit) || commit.explain != nullptr ||
      (has_thread() && !layout::plans_beside_threads(*format_))) {
    return nullptr;
  }
  encodes_behind_ = true;
  const plan::RankList writers = strategy_.openers(topology_, choice_);
  const auto rounds_in = [&](std::uint64_t bytes) {
    return exec::EncodedRounds(encoded_variables(commit), definitions_, writers, bytes);
  };
  const std::uint64_t share = choice_.budget_bytes / encoding_share_of_budget;
  const auto ranks = static_cast<std::uint64_t>(transport_.size());
  layout::CommitPlan plain = stand_ins(commit, staged.words);
  plan::Plan who = make_plan(commit, plain, staged.plain, {});
  exec::EncodedRounds rounds = rounds_in(ranks * share / writers.size());
  wait_for_room();
  plan::Plan all = who;
  all.writer_bytes += rounds.rounds() * rounds.held_bytes();
  share_ring(all, commit.is_step ? 2 : 1);
  if (!buffers_.ring) {
    rounds = rounds_in(share);
    if (rounds.rounds() > 1 || rounds.held_bytes() + who.writer_bytes > share) {
      return nullptr;
    }
    plan::WriterChoice half = choice_;
    half.budget_bytes = choice_.budget_bytes / 2;
    buffers_.writer.limit_buffers(plan::windows_held(half));
    wait_until_placed();
  }
  return std::make_shared<Behind>(Behind{std::move(rounds), std::move(plain), std::move(who)});
}

void FileWriter::commit_behind(const FileCommit& commit,
                               const std::shared_ptr<const Behind>& behind, const Staged& staged) {
  number_ = last_behind_ = pipeline_->begin();
  pipeline_->tracker().expect_messages(behind->rounds.rounds());
  if (publisher_) {
    begin_placing(commit, *behind, staged);
  }
  const std::shared_ptr<exec::EncodeBehind> encoder = make_encoder(behind);
  std::vector<std::uint64_t> words;
  std::exception_ptr failure = bring_encoded(commit, *behind, staged, encoder, words);
  if (buffers_.ring) {
    release_plain(behind, encoder);
  }
  const auto plain_failure = bring_plain(commit, *behind, staged, encoder, words);
  failure = failure ? failure : plain_failure;
  if (!buffers_.ring) {
    // Answers come only while all ranks ask for them: whoever brings bytes must not wait for one.
    end_round(encoder, true);
    release_plain(behind, encoder);
  }
  if (encoder) {
    buffers_.writer.submit([encoder](bool) {});  // until then it takes bytes
  }
  agree_in_background(failure, commit.synced);
  publish_in_background(commit);
}

/// On rank 0.
void FileWriter::begin_placing(const FileCommit& commit, const Behind& behind,
                               const Staged& staged) {
  const std::uint64_t number = number_;
  const std::uint64_t rounds = behind.rounds.rounds();
  const auto place = [this, number, rounds, request = request_for(commit, staged.words),
                      is_last = commit.is_last](std::uint64_t round,
                                                std::span<const layout::EncodedTile> tiles) {
    const std::lock_guard lock(planner_mutex_);
    Placed placed;
    if (round == 0) {
      tell_planner_what_waits(number);
      const layout::CommitPlan plan = planner_->plan_commit(request);
      if (is_last) {
        planner_->make_all();
      }
      reserve(plan);
      placed.plan = plan.to_bytes();
    }
    placed.addresses = planner_->place_encoded(tiles);
    if (round + 1 == rounds) {
      placed.update = planner_->seal();
      planner_->planned();
    }
    return placed;
  };
  pipeline_->begin_placing(number, modified_ns_, {rounds, place});
}

/// nullptr where this rank writes nothing.
std::shared_ptr<exec::EncodeBehind> FileWriter::make_encoder(
    const std::shared_ptr<const Behind>& behind) {
  if (file_ == nullptr) {
    return nullptr;
  }
  const std::size_t threads = has_thread() ? exec::idle_cores(transport_) : 1;
  const exec::EncodeBehind::Ground ground{*file_,  pipeline_->tracker(), *buffers_.encoding,
                                          threads, transport_.rank(),    has_thread()};
  return std::make_shared<exec::EncodeBehind>(
      ground, number_, behind->rounds, definitions_,
      std::shared_ptr<const layout::CommitPlan>(behind, &behind->plain));
}

/// Returns what this rank met; every rank does its part all the same.
std::exception_ptr FileWriter::bring_encoded(const FileCommit& commit, const Behind& behind,
                                             const Staged& staged,
                                             const std::shared_ptr<exec::EncodeBehind>& encoder,
                                             std::vector<std::uint64_t>& words) {
  const exec::EncodedRounds& rounds = behind.rounds;
  std::map<std::uint32_t, std::uint32_t> index;
  for (std::uint32_t i = 0; i < rounds.variables().size(); ++i) {
    index[rounds.variables()[i].variable] = i;
  }
  std::vector<std::vector<layout::Portion>> portions(rounds.rounds());
  std::vector<std::vector<plan::TileOwners::Tile>> tiles(rounds.rounds());
  for (const layout::Portion& portion : staged.encoded) {
    const std::uint32_t i = index.at(commit.blocks[portion.block].variable);
    const std::uint64_t r = rounds.round_of(i, portion.piece.tile_index);
    portions[r].push_back(portion);
    tiles[r].push_back({i, portion.piece.tile_index});
  }
  std::exception_ptr failure;
  plan::Plan who = behind.who;
  for (std::uint64_t r = 0; r < rounds.rounds(); ++r) {
    const layout::CommitPlan places = rounds.placements(r, transport_.rank(), tiles[r]);
    who.tiles = rounds.tile_map(r);
    exec::Work work;
    work.definitions = definitions_;
    work.name_hashes = name_hashes_;
    work.blocks = commit.blocks;
    work.portions = portions[r];
    work.commit = &places;
    work.records_out = options_.checksum ? &words : nullptr;
    work.file = encoder ? &encoder->dense_file() : nullptr;
    work.rank = commit.rank;
    const auto met = exec::failure_of([&] { exec::carry_out(transport_, who, work, buffers_); });
    failure = failure ? failure : met;
    if (buffers_.ring) {
      end_round(encoder, r + 1 == rounds.rounds());
    }
  }
  return failure;
}

std::exception_ptr FileWriter::bring_plain(const FileCommit& commit, const Behind& behind,
                                           const Staged& staged,
                                           const std::shared_ptr<exec::EncodeBehind>& encoder,
                                           std::span<const std::uint64_t> words) {
  if (behind.who.writer_bytes == 0) {
    return nullptr;
  }
  exec::Work work;
  work.definitions = definitions_;
  work.name_hashes = name_hashes_;
  work.blocks = commit.blocks;
  work.portions = staged.plain;
  work.commit = &behind.plain;
  work.first_word = staged.first_word;
  work.earlier_words = words;
  work.file = encoder ? &encoder->plain_file() : nullptr;
  work.rank = commit.rank;
  return exec::failure_of([&] { exec::carry_out(transport_, behind.who, work, buffers_); });
}

void FileWriter::end_round(const std::shared_ptr<exec::EncodeBehind>& encoder, bool is_last) {
  if (!encoder) {
    return;
  }
  buffers_.writer.submit_task(
      [encoder](const std::exception_ptr& earlier) { encoder->offer(earlier); });
  buffers_.writer.submit_task(
      [this, encoder, is_last, number = number_](const std::exception_ptr& earlier) {
        encoder->finish(earlier);
        if (is_last) {
          answered_.store(number);
          pipeline_->tracker().notify();
        }
      },
      [encoder] { return encoder->is_answered(); });
}

/// Places are known: fill values, then what lies upon them.
void FileWriter::release_plain(const std::shared_ptr<const Behind>& behind,
                               const std::shared_ptr<exec::EncodeBehind>& encoder) {
  if (!encoder) {
    return;
  }
  buffers_.writer.submit([encoder](bool) { encoder->rethrow(); });
  for (const layout::Placement& placement : behind->plain.placements) {
    const model::Definition& definition = definitions_[placement.variable()];
    if (definition.partial && !definition.fill.empty()) {
      // A copy: definitions may be added meanwhile.
      buffers_.writer.submit([this, behind, &placement, definition, encoder](bool has_failed) {
        if (!has_failed) {
          fill_own_tiles(encoder->plain_file(), placement, definition, behind->who.tiles);
        }
      });
    }
  }
  buffers_.writer.submit([encoder](bool has_failed) {
    if (!has_failed) {
      encoder->write_kept();
    }
  });
}

}  // namespace sluice::commit
