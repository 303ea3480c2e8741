#include "commit/write/encoded_writer.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "commit/write/tile_fill.hpp"
#include "exec/transport/agree.hpp"
#include "exec/write/sink.hpp"

namespace sluice::commit {

namespace {

/// The share of encoded tiles in a round; sent, received and packed bytes take the rest.
constexpr std::uint64_t encoding_share_of_budget = 4;
/// While all ranks wait, if an owner has enough tiles; more rounds would cost more in messages than
/// they hide.
constexpr std::uint64_t rounds_wanted = 4;
constexpr std::uint64_t worth_a_round_bytes = 4ULL << 20;

}  // namespace

// -- common to both methods -----------------------------------------------------------------------

std::vector<EncodedWriter::Parts> EncodedWriter::parts_of(const FileCommit& commit,
                                                          const StagedCommit& staged,
                                                          const exec::EncodedRounds& rounds) const {
  std::map<std::uint32_t, std::uint32_t> index;
  for (std::uint32_t i = 0; i < rounds.variables().size(); ++i) {
    index[rounds.variables()[i].variable] = i;
  }
  std::vector<Parts> parts(rounds.rounds());
  for (const layout::Portion& portion : staged.encoded) {
    const std::uint32_t i = index.at(commit.blocks[portion.block].variable);
    Parts& those = parts[rounds.round_of(i, portion.piece.tile_index)];
    those.portions.push_back(portion);
    those.tiles.push_back({i, portion.piece.tile_index});
  }
  return parts;
}

exec::EncodedRounds EncodedWriter::rounds_in(const FileCommit& commit,
                                             std::uint64_t room_bytes) const {
  return {config_.variables.encoded(commit), config_.variables.definitions(),
          config_.plans.openers(), room_bytes};
}

CommitPlanner::Rounds EncodedWriter::planning_of(const FileCommit& commit,
                                                 const StagedCommit& staged,
                                                 const exec::EncodedRounds& rounds) const {
  CommitPlanner::Rounds planning{{}, rounds.rounds(), commit.is_last};
  if (config_.planner != nullptr) {
    planning.request = config_.variables.request_for(commit, staged.words);
    config_.planner->stamp(planning.request);
  }
  return planning;
}

plan::Totals EncodedWriter::totals_of(const FileCommit& commit, const exec::EncodedRounds& rounds,
                                      const std::vector<Parts>& parts, plan::Plan who) const {
  plan::Totals sum;
  for (std::uint64_t r = 0; r < rounds.rounds() && commit.explain != nullptr; ++r) {
    who.tiles = rounds.tile_map(r);
    const auto places = rounds.placements(r, config_.transport.rank(), parts[r].tiles);
    sum += config_.plans.totals(commit, places, who, parts[r].portions);
  }
  return sum;
}

std::exception_ptr EncodedWriter::bring(const FileCommit& commit, const exec::EncodedRounds& rounds,
                                        std::uint64_t round, const Parts& parts, plan::Plan& who,
                                        storage::File* file, exec::RoundEncoder* encoder,
                                        std::vector<std::uint64_t>& words) {
  const auto places = rounds.placements(round, config_.transport.rank(), parts.tiles);
  who.tiles = rounds.tile_map(round);
  who.space = {};  // the round's tiles are used up to their last
  exec::Work work = config_.data.work_of(commit, parts.portions, places);
  work.records_out = config_.checksum ? &words : nullptr;
  work.file = file;
  if (encoder != nullptr) {
    work.memory = [encoder] { return encoder->dense_memory(); };
  }
  return config_.data.write(who, work);
}

exec::RoundEncoder::Config EncodedWriter::encoder_config() const {
  return {*config_.data.buffers().encoding, config_.data.encoding_threads(),
          config_.transport.rank(), config_.path};
}

// -- while all ranks wait -------------------------------------------------------------------------

/// What a round wrote goes to disk while the next one is encoded.
exec::EncodedRounds EncodedWriter::rounds_now(const FileCommit& commit) const {
  const std::uint64_t share = config_.plans.choice().budget_bytes / encoding_share_of_budget;
  const exec::EncodedRounds widest = rounds_in(commit, share);
  const std::uint64_t stride = widest.stride_bytes();
  const std::uint64_t quarter = (widest.owners().most() + rounds_wanted - 1) / rounds_wanted;
  const std::uint64_t tiles = std::max(quarter, worth_a_round_bytes / stride + 1);
  return tiles < widest.per_round() ? rounds_in(commit, tiles * stride) : widest;
}

EncodedWriter::Written EncodedWriter::write_now(const FileCommit& commit,
                                                const StagedCommit& staged,
                                                CommitPlanner::Update& update) {
  const exec::EncodedRounds rounds = rounds_now(commit);
  const std::vector<Parts> parts = parts_of(commit, staged, rounds);
  const CommitPlanner::Rounds planning = planning_of(commit, staged, rounds);
  plan::Plan who = config_.plans.make_rounds(commit, staged.encoded, rounds.held_bytes());
  std::optional<exec::RoundEncoder> encoder;
  std::optional<exec::FileSink> sink;
  if (storage::File* const file = config_.data.file()) {
    encoder.emplace(encoder_config(), 0, rounds, config_.variables.definitions());
    sink.emplace(*file, config_.data.writer());
  }
  Written written;
  written.totals = totals_of(commit, rounds, parts, who);
  for (std::uint64_t r = 0; r < rounds.rounds(); ++r) {
    const auto failure = bring(commit, rounds, r, parts[r], who, nullptr,
                               encoder ? &*encoder : nullptr, written.words);
    const exec::RoundSizes mine =
        encoder ? encoder->encode(failure)
                : exec::RoundSizes{exec::Outcome(0, failure, config_.transport.rank()), {}};
    const exec::RoundPlaces places = exchange(planning, r, mine, update);
    if (r == 0) {
      written.placed = layout::CommitPlan::from_bytes(places.plan);
      config_.data.map(written.placed);
    }
    if (encoder) {
      encoder->write(places, [&](std::uint64_t offset, std::span<const std::byte> bytes) {
        sink->write(offset, bytes);
      });
    }
  }
  if (encoder) {
    encoder->note(exec::failure_of([&] { sink->finish(); }));
    written.failure = encoder->failure();
  }
  return written;
}

/// Collective. The addresses of this rank's tiles; throws a failure of any rank in the round, on
/// all alike.
exec::RoundPlaces EncodedWriter::exchange(const CommitPlanner::Rounds& rounds, std::uint64_t round,
                                          const exec::RoundSizes& mine,
                                          CommitPlanner::Update& update) {
  exec::Transport& transport = config_.transport;
  const bool is_silent = mine.outcome.failed == 0 && mine.tiles.empty();
  const auto gathered = transport.gather(is_silent ? std::vector<std::byte>{} : mine.to_bytes(), 0);
  std::vector<std::byte> message = exec::on_root(transport, [&] {
    std::vector<exec::RoundSizes> sizes;
    sizes.reserve(gathered.size());
    for (const auto& bytes : gathered) {
      sizes.push_back(exec::RoundSizes::from_bytes(bytes));
    }
    const auto place = [&](std::span<const layout::EncodedTile> tiles) {
      if (round == 0) {
        config_.queue.before_planning();
      }
      return config_.planner->place(layout::absent, rounds, round, tiles, update);
    };
    auto bytes = exec::place_round(0, sizes, nullptr, 0, place).to_bytes();
    if (round == 0) {
      config_.plans.begin_writing(bytes);
    }
    return bytes;
  });
  if (round == 0) {
    config_.plans.take_root_time(message);
  }
  const exec::RoundPlaces all = exec::RoundPlaces::from_bytes(message);
  if (const std::exception_ptr failure = all.outcome.failure()) {
    std::rethrow_exception(failure);
  }
  return all.of(static_cast<std::size_t>(transport.rank()));
}

// -- in the background ----------------------------------------------------------------------------

std::shared_ptr<const EncodedWriter::Behind> EncodedWriter::plan_behind(
    const FileCommit& commit, const StagedCommit& staged) {
  DataWriter& data = config_.data;
  if (config_.background == nullptr || config_.plans.by_objects() ||
      (data.has_thread() && !layout::plans_beside_threads(config_.variables.format()))) {
    return nullptr;
  }
  const plan::WriterChoice& choice = config_.plans.choice();
  const std::uint64_t share = choice.budget_bytes / encoding_share_of_budget;
  const auto ranks = static_cast<std::uint64_t>(config_.transport.size());
  const bool encodes = config_.variables.has_encoded(commit);
  layout::CommitPlan plain = config_.variables.provisional_plan(commit, staged.words);
  if (!encodes && plain.hull().length > most_small_bytes) {
    return nullptr;
  }
  plan::Plan who = config_.plans.make(commit, plain, staged.plain);
  exec::EncodedRounds rounds = rounds_in(commit, ranks * share / config_.plans.openers().size());
  plan::Plan all = who;
  all.writer_bytes += encodes ? rounds.rounds() * rounds.held_bytes() : 0;
  config_.background->make_room(all, commit.is_step, encodes);
  if (!encodes && !data.ring_holds(who, plain)) {
    return nullptr;  // who waits for a slot would wait for the plan
  }
  if (!data.has_ring()) {
    rounds = rounds_in(commit, share);
    if (rounds.rounds() > 1 || rounds.held_bytes() + who.writer_bytes > share) {
      return nullptr;
    }
    plan::WriterChoice half = choice;
    half.budget_bytes = choice.budget_bytes / 2;
    data.writer().limit_buffers(plan::windows_held(half));
    config_.background->wait_until_placed();
  }
  return std::make_shared<Behind>(Behind{std::move(rounds), std::move(plain), std::move(who)});
}

std::exception_ptr EncodedWriter::write_behind(const FileCommit& commit, const StagedCommit& staged,
                                               const std::shared_ptr<const Behind>& behind,
                                               bool may_sync_later) {
  DataWriter& data = config_.data;
  const exec::EncodedRounds& rounds = behind->rounds;
  const std::vector<Parts> parts = parts_of(commit, staged, rounds);
  if (commit.explain != nullptr) {
    config_.plans.explain(commit, totals_of(commit, rounds, parts, behind->who),
                          config_.plans.totals(commit, behind->plain, behind->who, staged.plain),
                          data.file() != nullptr);
  }
  CommitPlanner::Rounds planning = planning_of(commit, staged, rounds);
  planning.may_sync_later = may_sync_later;
  planning.when_decided = rounds.variables().empty();
  const std::uint64_t number = config_.background->begin_rounds(std::move(planning));
  const Encoder encoder = make_encoder(number, behind);
  last_encoder_ = encoder;
  storage::File* const dense = encoder ? &encoder->dense_file() : nullptr;
  std::exception_ptr failure;
  std::vector<std::uint64_t> words;
  plan::Plan who = behind->who;
  for (std::uint64_t r = 0; r < rounds.rounds(); ++r) {
    if (r + 1 == rounds.rounds() && data.ring_holds(rounds.held_bytes())) {
      wait_for_end_of_call(encoder, rounds.held_bytes());
    }
    if (!rounds.variables().empty()) {
      const auto met = bring(commit, rounds, r, parts[r], who, dense, nullptr, words);
      failure = failure ? failure : met;
    }
    if (data.has_ring()) {
      end_round(number, encoder, r + 1 == rounds.rounds());
    }
  }
  if (data.has_ring()) {
    release_plain(behind, encoder);
  }
  if (behind->who.writer_bytes != 0) {
    exec::Work work = data.work_of(commit, staged.plain, behind->plain);
    work.first_word = staged.first_word;
    work.earlier_words = words;
    work.file = encoder ? &encoder->plain_file() : nullptr;
    const auto met = data.write(behind->who, work);
    failure = failure ? failure : met;
  }
  if (!data.has_ring()) {
    // Addresses arrive only while all ranks make calls: a rank that sends bytes must not wait for
    // one.
    end_round(number, encoder, true);
    release_plain(behind, encoder);
  }
  if (encoder) {
    data.writer().submit([encoder](bool) {});  // until then it receives bytes
  }
  return failure;
}

/// Null if this rank writes nothing.
EncodedWriter::Encoder EncodedWriter::make_encoder(
    std::uint64_t number, const std::shared_ptr<const Behind>& behind) const {
  storage::File* const file = config_.data.file();
  if (file == nullptr) {
    return nullptr;
  }
  return std::make_shared<exec::BackgroundEncoder>(
      encoder_config(), *file, config_.background->tracker(), config_.data.has_thread(), number,
      behind->rounds, config_.variables.definitions(),
      std::shared_ptr<const layout::CommitPlan>(behind, &behind->plain));
}

void EncodedWriter::end_call() {
  if (const Encoder encoder = last_encoder_.lock()) {
    encoder->end_call();
  }
}

/// The thread does, before anything that is submitted after this.
void EncodedWriter::wait_for_end_of_call(const Encoder& encoder, std::uint64_t held_bytes) {
  if (encoder) {
    config_.data.writer().submit(
        [encoder, held_bytes](bool) { encoder->wait_for_end_of_call(held_bytes); });
  }
}

void EncodedWriter::end_round(std::uint64_t number, const Encoder& encoder, bool is_last) {
  if (!encoder) {
    return;
  }
  exec::WriteBehind& writer = config_.data.writer();
  if (is_last) {
    wait_for_end_of_call(encoder, 0);
  }
  writer.submit_task(
      [encoder](const std::exception_ptr& earlier) { encoder->send_sizes(earlier); });
  writer.submit_task(
      [queue = config_.background, encoder, is_last, number](const std::exception_ptr& earlier) {
        encoder->take_places(earlier);
        if (is_last) {
          queue->note_placed(number);
        }
      },
      [encoder] { return encoder->has_places(); });
}

/// The addresses are known: fill values first, then the data over them.
void EncodedWriter::release_plain(const std::shared_ptr<const Behind>& behind,
                                  const Encoder& encoder) {
  if (!encoder) {
    return;
  }
  exec::WriteBehind& writer = config_.data.writer();
  writer.submit([encoder](bool) { encoder->rethrow(); });
  for (const layout::Placement& placement : behind->plain.placements) {
    const model::Definition& definition = config_.variables.definitions()[placement.variable()];
    if (needs_fill(definition)) {
      // A copy: definitions may be added meanwhile.
      writer.submit([behind, &placement, definition, encoder,
                     rank = config_.transport.rank()](bool has_failed) {
        if (!has_failed) {
          fill_own_tiles(encoder->plain_file(), placement, definition, behind->who.tiles, rank);
        }
      });
    }
  }
  writer.submit([encoder](bool has_failed) {
    if (!has_failed) {
      encoder->plain_file().write_kept();
    }
  });
}

}  // namespace sluice::commit
