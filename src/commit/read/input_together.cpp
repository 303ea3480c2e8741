// Getting selections in two phases: when to, and between whom.
#include <algorithm>

#include "commit/publish/recovery.hpp"
#include "commit/read/input.hpp"
#include "exec/transport/agree.hpp"
#include "layout/portion.hpp"
#include "layout/runs.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"
#include "model/numbering.hpp"
#include "plan/plan.hpp"

namespace sluice::commit {

using model::Box;

namespace {

/// Runs that are shorter on the average are read by windows; longer ones as they are.
constexpr std::int64_t short_run_bytes = 64 << 10;
/// Less is read sooner than agreed on.
constexpr std::int64_t worth_meeting_bytes = 1 << 20;

/// Of the budget: a window, as much to send, what a round brings, parts that are not complete.
constexpr std::uint64_t shares_of_budget = 4;
constexpr std::uint64_t smallest_window_bytes = 4 << 10;
constexpr std::uint64_t largest_window_bytes = 8 << 20;

}  // namespace

std::optional<std::vector<exec::CheckedPiece>> Input::checked_pieces(const Located& located,
                                                                     const Box& region) const {
  std::vector<exec::CheckedPiece> checked;
  for (const Record& record : located.records) {
    if (!model::intersect(record.box, region)) {
      continue;
    }
    const auto pieces = layout::cut(located.placement, record.box);
    const bool is_good =
        pieces.size() == 1 && located.placement.address(pieces[0].tile_index) != layout::absent;
    if (!is_good) {
      return std::nullopt;
    }
    checked.push_back({pieces[0], record.checksum});
  }
  return checked;
}

namespace {

/// What decides whether to meet, summed over all ranks.
struct Demand {
  std::int64_t wanted_bytes = 0;
  std::int64_t runs = 0;
  std::int64_t bytes_from_disk = 0;
};

Demand demand_of(const layout::Placement& placement, const Box& box,
                 std::span<const exec::CheckedPiece> checked) {
  Demand demand;
  std::uint64_t covered = 0;
  for (const exec::CheckedPiece& record : checked) {
    if (const auto part = model::intersect(record.piece.box, box)) {
      covered += part->volume();
      demand.bytes_from_disk +=
          static_cast<std::int64_t>(exec::bytes_from_disk(placement, record.piece));
    }
  }
  for (const layout::Piece& piece : layout::cut(placement, box)) {
    if (placement.address(piece.tile_index) == layout::absent) {
      continue;
    }
    const layout::RunList list(placement, piece);
    demand.wanted_bytes += static_cast<std::int64_t>(list.bytes());
    demand.runs += static_cast<std::int64_t>(list.count());
    if (covered < box.volume()) {
      demand.bytes_from_disk += static_cast<std::int64_t>(exec::bytes_from_disk(placement, piece));
    }
  }
  return demand;
}

/// Is it worth meeting, for a region of so many bytes?
bool is_better_together(const Demand& all, std::uint64_t region_bytes) {
  const auto distinct = std::min(all.wanted_bytes, static_cast<std::int64_t>(region_bytes));
  const bool is_short = all.runs > 0 && all.wanted_bytes / all.runs < short_run_bytes;
  const bool is_repeated = all.bytes_from_disk > distinct + distinct / 4;
  return all.wanted_bytes >= worth_meeting_bytes && (is_short || is_repeated);
}

}  // namespace

std::vector<bool> Input::read_together(std::span<const Reading> readings) {
  std::vector<std::int64_t> sums;
  for (const Reading& reading : readings) {
    const Demand mine = reading.checked ? demand_of(reading.located->placement,
                                                    reading.request->box, *reading.checked)
                                        : Demand{};
    sums.insert(sums.end(), {mine.wanted_bytes, mine.runs, mine.bytes_from_disk});
  }
  if (!sums.empty()) {
    transport_.allreduce(sums, exec::Op::sum);
  }
  const bool has_fewer_readers = options_.readers > 0 && options_.readers < transport_.size();
  std::vector<bool> is_together;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Demand all{sums[3 * i], sums[3 * i + 1], sums[3 * i + 2]};
    const std::uint64_t element = variables_[readings[i].located->variable].definition.type.bytes;
    const bool is_worth = has_fewer_readers
                              ? all.wanted_bytes > 0
                              : is_better_together(all, readings[i].region.volume() * element);
    is_together.push_back(readings[i].checked.has_value() && is_worth);
  }
  return is_together;
}

std::vector<int> Input::readers() const {
  // By the rule that chooses writers, no more than what their smallest windows leave of the budget.
  plan::Topology topology;
  topology.rank = transport_.rank();
  topology.ranks = transport_.size();
  topology.nodes = transport_.nodes();
  const std::uint64_t affordable =
      std::clamp<std::uint64_t>(options_.budget_bytes / shares_of_budget / smallest_window_bytes, 1,
                                static_cast<std::uint64_t>(transport_.size()));
  plan::WriterChoice choice;
  choice.writers = std::min(options_.readers, transport_.size());
  const auto ranks = plan::writer_ranks(topology, choice);
  choice.writers = static_cast<int>(std::min<std::uint64_t>(ranks.size(), affordable));
  return plan::writer_ranks(topology, choice);
}

storage::File* Input::open_together(const layout::Placement& placement) {
  const std::vector<int> who = readers();
  const bool is_reader = std::binary_search(who.begin(), who.end(), transport_.rank());
  storage::File* opened = nullptr;
  exec::together(transport_, [&] {
    if (storage_.ranks_together() == transport_.size() && placement.objects().empty()) {
      if (!common_opened_) {
        common_opened_ = true;
        common_file_ = storage_.open_together(path_, storage::Access::read, is_reader);
        if (auto journal = parse_journal(journal_); journal && common_file_) {
          common_file_ = with_journal(std::move(common_file_), std::move(*journal));
        }
      }
      opened = common_file_.get();
    } else if (is_reader) {
      map_objects(placement);
      opened = &file();
    }
  });
  return opened;
}

void Input::get_together(storage::File* source, const Located& located, const Box& region,
                         const Box& box, const model::Memory& memory, bool allow_overflow,
                         std::span<const exec::CheckedPiece> checked) {
  const InputVariable& variable = variables_[located.variable];
  const model::Definition& d = variable.definition;
  const std::vector<int> who = readers();
  const std::uint64_t share = options_.budget_bytes / shares_of_budget;
  const std::uint64_t window =
      std::clamp(share / who.size(), smallest_window_bytes, largest_window_bytes);
  const std::uint64_t most_part =
      std::clamp(share / (who.size() + 1), smallest_window_bytes, layout::portion_bytes);
  layout::Extent space{layout::absent, 0};
  std::uint64_t end = 0;
  for (const layout::Piece& piece : layout::cut(located.placement, region)) {
    if (located.placement.address(piece.tile_index) != layout::absent) {
      const layout::RunList runs(located.placement, piece);
      space.offset = std::min(space.offset, runs.begin());
      end = std::max(end, runs.end());
    }
  }
  space = end == 0 ? layout::Extent{} : layout::Extent{space.offset, end - space.offset};
  const exec::ReadMap map = exec::read_map(located.placement, space, checked, who, window);

  std::vector<layout::Piece> parts;
  for (const layout::Piece& piece : layout::cut(located.placement, box)) {
    for (const Box& part : layout::split(piece.box, d.type.bytes, most_part)) {
      if (located.placement.address(piece.tile_index) != layout::absent) {
        parts.push_back({part, piece.tile_index});
      }
    }
  }
  exec::read_in_rounds(
      transport_, source, located.placement, map, parts, checked, buffers_,
      [&](std::size_t part, std::span<std::byte> bytes) {
        if (variable.big_endian) {
          model::swap_bytes(bytes, d.type);
        }
        try {
          model::unpack(bytes, d.type, box, parts[part].box, memory, allow_overflow);
        } catch (...) {
          std::rethrow_exception(naming_call("get " + d.name));
        }
      },
      [&](std::span<const std::size_t> mismatches) {
        fill_absent(located, box, memory, allow_overflow);
        if (!mismatches.empty()) {
          const exec::CheckedPiece& first =
              checked[*std::min_element(mismatches.begin(), mismatches.end())];
          refuse_damaged(located, {first.piece.box, first.checksum});
        }
      });
}

void Input::fill_absent(const Located& located, const Box& box, const model::Memory& memory,
                        bool allow_overflow) const {
  const model::Definition& d = variables_[located.variable].definition;
  std::vector<std::byte> filled;
  for (const layout::Piece& piece : layout::cut(located.placement, box)) {
    if (located.placement.address(piece.tile_index) != layout::absent) {
      continue;
    }
    for (const Box& part : layout::split(piece.box, d.type.bytes, layout::portion_bytes)) {
      filled.resize(part.volume() * d.type.bytes);
      model::fill(filled, d.type, d.fill);
      model::unpack(filled, d.type, box, part, memory, allow_overflow);
    }
  }
}

void Input::refuse_damaged(const Located& located, const Record& record) const {
  const model::Definition& d = variables_[located.variable].definition;
  const std::string where = path_ + ": " + d.name +
                            (d.stepped ? ", step " + model::number_text(located.step) : "") + ", " +
                            record.box.text();
  const bool is_named = record.rank != exec::ChecksumRecord::nobody;
  const std::string writer =
      is_named ? " (written by rank " + std::to_string(record.rank) + ")" : "";
  throw modified_
      ? Error(Code::changed_outside, where +
                                         ": does not match its checksum, and the file was changed "
                                         "outside Sluice (or copied) since its last commit" +
                                         writer)
      : Error(Code::damaged, where + ": does not match its checksum: damaged" + writer);
}

}  // namespace sluice::commit
