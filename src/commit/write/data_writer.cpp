#include "commit/write/data_writer.hpp"

#include <algorithm>
#include <bit>

#include "commit/write/tile_fill.hpp"
#include "exec/transport/agree.hpp"
#include "exec/write/flows.hpp"
#include "layout/rounding.hpp"

namespace sluice::commit {

namespace {

/// One is filled while another is written; the third keeps a slow write from stopping the packing.
constexpr std::size_t staging_buffers = 3;
/// As many a file has whatever others use: one being filled, one being written.
constexpr std::size_t fewest_buffers = 2;
/// Few windows make a writer and its senders wait for each other.
constexpr std::uint64_t fewest_slots = 3;
/// Small steps have small windows, so that they touch little memory; smaller ones than this cost
/// more in waking the writer than they save.
constexpr std::uint64_t windows_of_step = 8;
constexpr std::uint64_t smallest_slot_window_bytes = 256ULL << 10;

exec::Pace pace_of(const plan::Strategy& strategy, const exec::Transport& transport,
                   const storage::Storage& storage) {
  if (!strategy.in_background) {
    return storage.in_background() ? exec::Pace::in_thread : exec::Pace::at_once;
  }
  // Virtual ranks take turns, in an order that a test can repeat.
  return storage.in_background() && transport.runs_at_once() ? exec::Pace::in_thread
                                                             : exec::Pace::when_asked;
}

exec::WriteBehind writer_of(const PlanMaker& plans, const exec::Transport& transport,
                            const storage::Storage& storage, const exec::StagingLimits& limits) {
  const plan::Strategy& strategy = plans.strategy();
  const exec::Pace pace = pace_of(strategy, transport, storage);
  const std::size_t buffers =
      strategy.in_background ? plan::windows_held(plans.choice()) : staging_buffers;
  // What ranks of one process do must not depend on what others of them hold.
  const std::size_t fewest = pace == exec::Pace::in_thread ? fewest_buffers : buffers;
  return {strategy.in_windows ? plan::window_bytes(plans.choice()) : layout::portion_bytes, buffers,
          pace, fewest, limits,
          // Ranks wait for what is not written in the background.
          strategy.in_background ? storage::Cores::any : storage::Cores::of_starter};
}

}  // namespace

DataWriter::DataWriter(exec::Transport& transport, storage::Storage& storage,
                       const FilePlace& place, const std::string& present_path,
                       const Options& options, const FileVariables& variables,
                       const PlanMaker& plans, Publisher* publisher)
    : transport_(transport),
      storage_(storage),
      options_(options),
      variables_(variables),
      choice_(plans.choice()),
      in_background_(plans.strategy().in_background),
      rank_cores_(place.rank_cores),
      publisher_(publisher),
      buffers_{writer_of(plans, transport, storage,
                         {plans.choice().budget_bytes, options.staging_idle_s}),
               {}} {
  buffers_.take_from_pool(choice_.budget_bytes);
  buffers_.encoding->budget_bytes = choice_.budget_bytes;
  const plan::RankList openers = plans.openers();
  const int own_index = openers.index_of(transport.rank());
  writers_ = openers.size();
  writer_index_ = static_cast<std::uint64_t>(std::max(own_index, 0));
  // Not for a group of the ranks: each group has another file.
  const bool together = storage.ranks_together() == transport.size();
  const bool root_writes_alone = openers.size() == 1 && openers.index_of(0) == 0;
  if (root_writes_alone && !together && !in_background_) {
    file_ = publisher != nullptr ? &publisher->file() : nullptr;  // which has been opened
    return;
  }
  exec::together(transport, [&] { open_own(place.path, present_path, own_index >= 0, together); });
}

void DataWriter::open_own(const std::string& path, const std::string& present_path, bool writes,
                          bool together) {
  if (together) {
    own_file_ = std::make_unique<ReopenableFile>(
        storage_, storage_.open_together(present_path, storage::Access::read_write, writes));
  } else if (writes && (publisher_ == nullptr || in_background_)) {
    own_file_ =
        std::make_unique<ReopenableFile>(storage_, present_path, storage::Access::read_write);
  }
  if (writes) {
    file_ = own_file_ ? own_file_.get() : &publisher_->file();
  }
  if (own_file_ && writes) {
    own_file_->watch_lease(path);
  }
  if (writes && in_background_ && has_thread()) {
    // Here, where all ranks learn of it if the thread cannot be started.
    buffers_.writer.submit([](bool) {});
  }
}

std::size_t DataWriter::encoding_threads() const {
  return storage_.in_background() ? rank_cores_ : 1;
}

StagedCommit DataWriter::stage(const FileCommit& commit) {
  StagedCommit staged = variables_.cut_blocks(commit);
  number_words(commit, staged);
  return staged;
}

/// Collective, unless the blocks are unchanged since their words were last numbered.
void DataWriter::number_words(const FileCommit& commit, StagedCommit& staged) {
  if (commit.blocks_number == 0 || commit.blocks_number != words_.blocks_number) {
    std::uint64_t words = 0;
    for (const auto* portions : {&staged.plain, &staged.encoded}) {
      for (const layout::Portion& portion : *portions) {
        const model::Definition& definition =
            variables_.definitions()[commit.blocks[portion.block].variable];
        words += options_.checksum && layout::keeps_values(definition)
                     ? layout::record_words(portion.piece.box.start.rank())
                     : 0;
      }
    }
    words_.blocks_number = 0;
    const exec::PrefixSum sums = transport_.prefix_sum(static_cast<std::int64_t>(words));
    words_ = {commit.blocks_number, static_cast<std::uint64_t>(sums.below),
              static_cast<std::uint64_t>(sums.all)};
  }
  staged.first_word = words_.first;
  staged.words = words_.all;
}

exec::Work DataWriter::work_of(const FileCommit& commit, std::span<const layout::Portion> portions,
                               const layout::CommitPlan& placed) const {
  exec::Work work;
  work.definitions = variables_.definitions();
  work.name_hashes = variables_.name_hashes();
  work.blocks = commit.blocks;
  work.portions = portions;
  work.commit = &placed;
  work.file = file_;
  work.rank = commit.rank;
  return work;
}

void DataWriter::map(const layout::CommitPlan& placed) {
  if (file_ != nullptr) {
    file_->map(placed.objects);
  }
}

void DataWriter::prefill(const layout::CommitPlan& placed, const plan::Plan& who) {
  const bool in_background = who.flow == plan::Flow::async_two_phase;
  bool any = false;
  std::exception_ptr failure;
  for (const layout::Placement& placement : placed.placements) {
    const model::Definition& definition = variables_.definitions()[placement.variable()];
    if (!needs_fill(definition)) {
      continue;
    }
    any = true;
    if (file_ == nullptr || failure) {
      continue;
    }
    if (in_background) {
      // Copies: definitions may be added meanwhile.
      buffers_.writer.submit([file = file_, placement, definition, tiles = who.tiles,
                              rank = transport_.rank()](bool has_failed) {
        if (!has_failed) {
          fill_own_tiles(*file, placement, definition, tiles, rank);
        }
      });
      continue;
    }
    failure = exec::failure_of([&] {
      who.flow == plan::Flow::two_phase
          ? fill_own_tiles(*file_, placement, definition, who.tiles, transport_.rank())
          : fill_tiles_in_turn(*file_, placement, definition, writers_, writer_index_);
    });
  }
  if (any && !in_background) {
    exec::agree(transport_, failure);
  }
}

std::exception_ptr DataWriter::write(const plan::Plan& who, const exec::Work& work) {
  return exec::failure_of([&] { exec::carry_out(transport_, who, work, buffers_); });
}

void DataWriter::sync() {
  if (file_ != nullptr) {
    file_->sync();
  }
  if (publisher_ != nullptr && file_ != &publisher_->file()) {
    publisher_->file().sync();
  }
}

void DataWriter::keep_cached(bool is_wanted) {
  if (file_ != nullptr && in_background_) {
    // Writes of earlier commits may still be waiting.
    writer().submit([file = file_, is_wanted](bool) { file->keep_cached(is_wanted); });
  } else if (file_ != nullptr) {
    file_->keep_cached(is_wanted);
  }
}

void DataWriter::renew(const std::string& present_path) {
  if (storage::WholeFiles* const whole = storage_.whole_files(present_path)) {
    exec::together(transport_, [&] { whole->discard(); });
  }
  const bool lost = own_file_ && own_file_->sync_failed();
  exec::together(transport_, [&] {
    if (lost) {
      if (storage_.ranks_together() == transport_.size()) {
        throw Error(Code::io, present_path + ": a sync failed, and the state on disk is unknown");
      }
      own_file_->renew(present_path);
    }
  });
}

void DataWriter::rest_ring() {
  ring_waited_s_ += buffers_.ring ? buffers_.ring->waited_s() : 0;
  resting_ring_ = std::move(buffers_.ring);
}

void DataWriter::close() {
  own_file_.reset();
  file_ = nullptr;
  buffers_.ring = std::move(resting_ring_);
  buffers_.give_to_pool(options_.staging_idle_s);
}

void DataWriter::share_ring(const plan::Plan& who, std::uint64_t commits, bool encodes,
                            const std::function<void()>& wait_for_all) {
  encodes_ = encodes_ || encodes;
  const std::uint64_t part =
      std::bit_floor(std::max(smallest_slot_window_bytes, who.writer_bytes / windows_of_step));
  const std::uint64_t window = std::min(who.window_bytes, part);
  const std::uint64_t writers = who.tiles.writers().size();
  const auto ranks = static_cast<std::uint64_t>(transport_.size());
  // The encoder takes a quarter, and packed data another one.
  const std::uint64_t budget =
      encodes_ ? choice_.budget_bytes / 2 : choice_.budget_bytes - choice_.budget_bytes / 4;
  const std::uint64_t most = std::max(fewest_slots, ranks * budget / writers / window);
  const std::uint64_t wanted = commits * (who.writer_bytes / window + 2);
  const std::uint64_t slots = std::clamp(wanted, fewest_slots, most);
  const auto* const ring = buffers_.ring.get();
  const std::uint64_t present = ring != nullptr ? ring->slots() * ring->window_bytes() : 0;
  const bool is_too_large = encodes_ && present > std::max(most, slots) * who.window_bytes &&
                            ring->slots() > fewest_slots;
  const bool was_asked_for = ring != nullptr && ring_asked_bytes_ >= slots * window;
  if (ring_is_refused_ || ((present >= slots * window || was_asked_for) && !is_too_large)) {
    return;
  }
  ring_asked_bytes_ = slots * window;
  wait_for_all();
  drop_ring();
  for (std::uint64_t tried = slots; !buffers_.ring && tried >= fewest_slots; tried /= 2) {
    const exec::RingShape shape{0, writers, window, tried};
    buffers_.ring = exec::Ring::share(transport_, shape, fewest_slots, budget, options_.timeout_s);
  }
  ring_is_refused_ = buffers_.ring == nullptr;
}

bool DataWriter::ring_holds(std::uint64_t bytes) const noexcept {
  return buffers_.ring != nullptr &&
         bytes <= buffers_.ring->slots() * buffers_.ring->window_bytes();
}

bool DataWriter::ring_holds(const plan::Plan& who, const layout::CommitPlan& placed) const {
  const auto& ring = buffers_.ring;
  return ring != nullptr && exec::ring_windows(who, placed, ring->window_bytes()) <= ring->slots();
}

void DataWriter::drop_ring() {
  rest_ring();
  resting_ring_.reset();
}

void DataWriter::stop_ring() noexcept {
  if (buffers_.ring) {
    buffers_.ring->stop();
  }
}

double DataWriter::waited_s() const {
  return ring_waited_s_ + buffers_.writer.waited_s() +
         (buffers_.ring ? buffers_.ring->waited_s() : 0);
}

}  // namespace sluice::commit
