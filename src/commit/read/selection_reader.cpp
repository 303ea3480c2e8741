#include "commit/read/selection_reader.hpp"

#include <algorithm>

#include "commit/read/agreement.hpp"
#include "commit/read/beside_writer.hpp"
#include "commit/read/root_reading.hpp"
#include "exec/read/encoded_read.hpp"
#include "exec/transport/agree.hpp"
#include "layout/portion.hpp"
#include "layout/runs.hpp"
#include "plan/plan.hpp"

namespace sluice::commit {

using model::Box;

namespace {

/// If runs are shorter on average, they are read by windows; longer ones individually.
constexpr std::int64_t short_run_bytes = 64 << 10;
/// Reading less takes less time than agreeing on it.
constexpr std::int64_t worth_meeting_bytes = 1 << 20;
/// Shares of the budget: a window, the bytes to send, those of a round, and incomplete parts.
constexpr std::uint64_t shares_of_budget = 4;
constexpr std::uint64_t smallest_window_bytes = 4 << 10;
constexpr std::uint64_t largest_window_bytes = 8 << 20;

/// The records that overlap the region, as exec::read_in_rounds needs them; empty if one is not in
/// a single existing tile. The same on every rank; of many records those that this rank has.
std::optional<std::vector<exec::CheckedPiece>> checked_pieces(const Located& located,
                                                              const Box& region) {
  if (!located.is_in_tiles) {
    return std::nullopt;
  }
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

/// From the first to the last byte of a region in the file.
layout::Extent extent_of(const layout::Placement& placement, const Box& region) {
  std::uint64_t first = layout::absent;
  std::uint64_t end = 0;
  for (const layout::Piece& piece : layout::cut(placement, region)) {
    if (placement.address(piece.tile_index) != layout::absent) {
      const layout::RunList runs(placement, piece);
      first = std::min(first, runs.begin());
      end = std::max(end, runs.end());
    }
  }
  return end == 0 ? layout::Extent{} : layout::Extent{first, end - first};
}

}  // namespace

SelectionReader::SelectionReader(const FileInput& file)
    : file_(file),
      locator_(file.transport, file.view, file.root.get()),
      checked_(file.view, *file.source) {}

std::vector<std::optional<Box>> SelectionReader::get(std::span<const GetRequest> requests,
                                                     const std::exception_ptr& failure) {
  auto regions = common_regions(file_.transport, file_.view, requests, failure);
  beside_writer(file_, locator_, [&] { get_regions(requests, regions); });
  return regions;
}

void SelectionReader::get_regions(std::span<const GetRequest> requests,
                                  std::span<const std::optional<Box>> regions) {
  get_by_address(requests, regions);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const InputVariable& variable = file_.view[requests[i].variable];
    if (!regions[i] || variable.has_addresses() || variable.number_in_set) {
      continue;
    }
    if (variable.is_encoded()) {
      get_encoded(requests[i], *regions[i]);
    } else {
      read_through_root(file_, checked_, buffers_.messages, requests[i]);
    }
  }
}

void SelectionReader::get_by_address(std::span<const GetRequest> requests,
                                     std::span<const std::optional<Box>> regions) {
  std::vector<Wanted> wanted;
  std::vector<Box> own;
  std::vector<Reading> readings;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (regions[i] && file_.view[requests[i].variable].has_addresses()) {
      wanted.push_back({requests[i].variable, requests[i].step, *regions[i]});
      own.push_back(requests[i].box);
      readings.push_back({&requests[i], nullptr, *regions[i], {}});
    }
  }
  const std::span<const Located> located = locator_.locate(wanted, own);
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
    exec::agree(file_.transport, failure);
  }
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (is_in_two_phases[i]) {
      if (located[i].is_many) {
        locator_.complete(i);
        readings[i].records = checked_pieces(located[i], readings[i].region);
      }
      get_in_two_phases(readings[i]);
    }
  }
  locator_.forget_many();
}

std::vector<bool> SelectionReader::choose_two_phases(std::span<const Reading> readings) {
  std::vector<std::int64_t> sums;
  for (const Reading& reading : readings) {
    const Demand mine = reading.records ? demand_of(reading.located->placement(),
                                                    reading.request->box, *reading.records)
                                        : Demand{};
    sums.insert(sums.end(), {mine.wanted_bytes, mine.runs, mine.bytes_from_disk});
  }
  exec::Transport& transport = file_.transport;
  if (!sums.empty()) {
    transport.allreduce(sums, exec::Op::sum);
  }
  const int readers = file_.options.readers;
  const bool has_fewer_readers = readers > 0 && readers < transport.size();
  std::vector<bool> chosen;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Demand all{sums[3 * i], sums[3 * i + 1], sums[3 * i + 2]};
    const Type& type = file_.view[readings[i].located->variable].definition.type;
    const bool is_worth = has_fewer_readers
                              ? all.wanted_bytes > 0
                              : is_worth_meeting(all, readings[i].region.volume() * type.bytes);
    chosen.push_back(readings[i].records.has_value() && is_worth);
  }
  return chosen;
}

std::vector<int> SelectionReader::readers() const {
  // By the rule that chooses writers, limited by the budget for their smallest windows.
  const exec::Transport& transport = file_.transport;
  plan::Topology topology;
  topology.rank = transport.rank();
  topology.ranks = transport.size();
  topology.nodes = transport.nodes();
  const std::uint64_t affordable = std::clamp<std::uint64_t>(
      file_.options.budget_bytes / shares_of_budget / smallest_window_bytes, 1,
      static_cast<std::uint64_t>(transport.size()));
  plan::WriterChoice choice;
  choice.writers = std::min(file_.options.readers, transport.size());
  const auto ranks = plan::writer_ranks(topology, choice);
  choice.writers = static_cast<int>(std::min<std::uint64_t>(ranks.size(), affordable));
  return plan::writer_ranks(topology, choice);
}

void SelectionReader::fill_absent(const layout::Placement& placement, const Destination& to) {
  for (const layout::Piece& piece : layout::cut(placement, to.box())) {
    if (placement.address(piece.tile_index) == layout::absent) {
      to.fill(piece.box);
    }
  }
}

void SelectionReader::get_independent(const Reading& reading) {
  checked_.get(*reading.located,
               Destination(file_.view[reading.located->variable], *reading.request));
}

void SelectionReader::get_in_two_phases(const Reading& reading) {
  const Located& located = *reading.located;
  const layout::Placement& placement = located.placement();
  const InputVariable& variable = file_.view[located.variable];
  const Destination to(variable, *reading.request);
  exec::Transport& transport = file_.transport;
  const std::vector<int> who = readers();
  storage::File* const file = file_.source->file_of_readers(
      transport, placement, std::binary_search(who.begin(), who.end(), transport.rank()));
  const std::uint64_t share = file_.options.budget_bytes / shares_of_budget;
  const std::uint64_t window =
      std::clamp(share / who.size(), smallest_window_bytes, largest_window_bytes);
  const std::uint64_t most_part =
      std::clamp(share / (who.size() + 1), smallest_window_bytes, layout::portion_bytes);
  const exec::ReadMap map = exec::read_map(placement, extent_of(placement, reading.region),
                                           *reading.records, who, window);
  std::vector<layout::Piece> parts;
  for (const layout::Piece& piece : layout::cut(placement, to.box())) {
    if (placement.address(piece.tile_index) != layout::absent) {
      for (const Box& part : layout::split(piece.box, variable.definition.type.bytes, most_part)) {
        parts.push_back({part, piece.tile_index});
      }
    }
  }
  exec::ReadSink sink;
  sink.place = [&](std::size_t part) { return to.run_of(parts[part].box); };
  sink.whole = [&](std::size_t part, std::span<std::byte> bytes) {
    to.put_stored(parts[part].box, bytes);
  };
  sink.finish = [&](std::span<const std::size_t> mismatches) {
    fill_absent(placement, to);
    if (!mismatches.empty()) {
      const exec::CheckedPiece& first =
          (*reading.records)[*std::min_element(mismatches.begin(), mismatches.end())];
      checked_.refuse(located, {first.piece.box, first.checksum});
    }
  };
  exec::read_in_rounds(transport, file, placement, map, parts, *reading.records, buffers_, sink);
}

void SelectionReader::get_encoded(const GetRequest& request, const Box& region) {
  const InputVariable& variable = file_.view[request.variable];
  const Located& located = locator_.locate_encoded({request.variable, request.step, region});
  exec::Transport& transport = file_.transport;
  exec::EncodedReading reading;
  reading.tiles = &located.tiles;
  reading.region = region;
  reading.pipeline = variable.filters;
  reading.name = file_.view.name_of(request.variable, request.step);
  reading.readers = file_.options.readers > 0 ? plan::RankList(readers())
                                              : plan::RankList::spaced(0, 1, transport.size());
  reading.budget_bytes = file_.options.budget_bytes;
  reading.threads = file_.storage.in_background() ? file_.rank_cores : 1;
  reading.file = [&]() -> storage::File& { return file_.source->file(located.placement()); };
  reading.inspect = [&](std::uint64_t tile, std::span<const std::byte> dense) {
    checked_.check_tile(located, tile, dense);
  };
  const Destination to(variable, request);
  reading.finish = [&] {
    checked_.check_absent(located, to.box());
    fill_absent(located.placement(), to);
  };
  std::vector<std::byte> bytes;
  exec::read_encoded(transport, reading, request.box,
                     [&](const Box& part, std::span<const std::byte> stored) {
                       if (!variable.big_endian) {
                         to.put(part, stored);
                         return;
                       }
                       bytes.assign(stored.begin(), stored.end());
                       to.put_stored(part, bytes);
                     });
}

}  // namespace sluice::commit
