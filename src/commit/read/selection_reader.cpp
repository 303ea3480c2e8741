#include "commit/read/selection_reader.hpp"

#include <algorithm>

#include "commit/read/agreement.hpp"
#include "exec/transport/agree.hpp"
#include "layout/portion.hpp"
#include "layout/runs.hpp"

namespace sluice::commit {

using model::Box;

namespace {

/// If runs are shorter on average, they are read by windows; longer ones individually.
constexpr std::int64_t short_run_bytes = 64 << 10;
/// Reading less takes less time than agreeing on it.
constexpr std::int64_t worth_meeting_bytes = 1 << 20;

/// The records that overlap the region, as exec::read_in_rounds needs them; empty if one is not in
/// a single existing tile. The same on every rank.
std::optional<std::vector<exec::CheckedPiece>> checked_pieces(const Located& located,
                                                              const Box& region) {
  std::vector<exec::CheckedPiece> checked;
  for (const Record* record : located.records.overlapping(region)) {
    const auto pieces = layout::cut(located.placement(), record->box);
    const bool is_good =
        pieces.size() == 1 && located.placement().address(pieces[0].tile_index) != layout::absent;
    if (!is_good) {
      return std::nullopt;
    }
    checked.push_back({pieces[0], record->checksum});
  }
  return checked;
}

/// The criteria for reading together, summed over all ranks.
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

/// Is it worth reading together, for a region of this many bytes?
bool is_worth_meeting(const Demand& all, std::uint64_t region_bytes) {
  const auto distinct = std::min(all.wanted_bytes, static_cast<std::int64_t>(region_bytes));
  const bool is_short = all.runs > 0 && all.wanted_bytes / all.runs < short_run_bytes;
  const bool is_repeated = all.bytes_from_disk > distinct + distinct / 4;
  return all.wanted_bytes >= worth_meeting_bytes && (is_short || is_repeated);
}

}  // namespace

SelectionReader::SelectionReader(const ReadContext& context)
    : context_(context),
      locator_(context.transport, context.view, context.root),
      checked_(context.view, context.source) {}

void SelectionReader::get(std::span<const GetRequest> requests, const std::exception_ptr& failure) {
  const auto regions = common_regions(context_.transport, context_.view, requests, failure);
  get_by_address(requests, regions);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const InputVariable& variable = context_.view[requests[i].variable];
    if (!regions[i] || variable.has_addresses()) {
      continue;
    }
    if (variable.number_in_set) {
      get_from_parts(requests[i], *regions[i]);
    } else if (variable.is_encoded()) {
      get_encoded(requests[i], *regions[i]);
    } else {
      get_through_root(requests[i]);
    }
  }
}

void SelectionReader::get_by_address(std::span<const GetRequest> requests,
                                     std::span<const std::optional<Box>> regions) {
  std::vector<Wanted> wanted;
  std::vector<Reading> readings;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (regions[i] && context_.view[requests[i].variable].has_addresses()) {
      wanted.push_back({requests[i].variable, requests[i].step, *regions[i]});
      readings.push_back({&requests[i], nullptr, *regions[i], {}});
    }
  }
  const std::span<const Located> located = locator_.locate(wanted);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    readings[i].located = &located[i];
    readings[i].records = checked_pieces(located[i], readings[i].region);
  }
  const std::vector<bool> is_in_two_phases = choose_two_phases(readings);
  std::exception_ptr failure;
  for (std::size_t i = 0; i < readings.size() && !failure; ++i) {
    if (!is_in_two_phases[i] && !readings[i].request->box.empty()) {
      failure = exec::failure_of([&] { get_independent(readings[i]); });
    }
  }
  if (std::find(is_in_two_phases.begin(), is_in_two_phases.end(), false) !=
      is_in_two_phases.end()) {
    exec::agree(context_.transport, failure);
  }
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (is_in_two_phases[i]) {
      get_in_two_phases(readings[i]);
    }
  }
}

std::vector<bool> SelectionReader::choose_two_phases(std::span<const Reading> readings) {
  std::vector<std::int64_t> sums;
  for (const Reading& reading : readings) {
    const Demand mine = reading.records ? demand_of(reading.located->placement(),
                                                    reading.request->box, *reading.records)
                                        : Demand{};
    sums.insert(sums.end(), {mine.wanted_bytes, mine.runs, mine.bytes_from_disk});
  }
  exec::Transport& transport = context_.transport;
  if (!sums.empty()) {
    transport.allreduce(sums, exec::Op::sum);
  }
  const int readers = context_.options.readers;
  const bool has_fewer_readers = readers > 0 && readers < transport.size();
  std::vector<bool> chosen;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Demand all{sums[3 * i], sums[3 * i + 1], sums[3 * i + 2]};
    const Type& type = context_.view[readings[i].located->variable].definition.type;
    const bool is_worth = has_fewer_readers
                              ? all.wanted_bytes > 0
                              : is_worth_meeting(all, readings[i].region.volume() * type.bytes);
    chosen.push_back(readings[i].records.has_value() && is_worth);
  }
  return chosen;
}

}  // namespace sluice::commit
