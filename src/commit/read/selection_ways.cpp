// The methods of reading a selection; see selection_reader.hpp.
#include <algorithm>

#include "codec/checksum.hpp"
#include "commit/read/selection_reader.hpp"
#include "exec/cores.hpp"
#include "exec/exchange/bounded_exchange.hpp"
#include "exec/read/encoded_read.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/tags.hpp"
#include "layout/portion.hpp"
#include "layout/runs.hpp"
#include "model/box_tree.hpp"
#include "plan/plan.hpp"

namespace sluice::commit {

using model::Box;

namespace {

/// Shares of the budget: a window, the bytes to send, those of a round, and incomplete parts.
constexpr std::uint64_t shares_of_budget = 4;
constexpr std::uint64_t smallest_window_bytes = 4 << 10;
constexpr std::uint64_t largest_window_bytes = 8 << 20;

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

std::vector<int> SelectionReader::readers() const {
  // By the rule that chooses writers, limited by the budget for their smallest windows.
  const exec::Transport& transport = context_.transport;
  plan::Topology topology;
  topology.rank = transport.rank();
  topology.ranks = transport.size();
  topology.nodes = transport.nodes();
  const std::uint64_t affordable = std::clamp<std::uint64_t>(
      context_.options.budget_bytes / shares_of_budget / smallest_window_bytes, 1,
      static_cast<std::uint64_t>(transport.size()));
  plan::WriterChoice choice;
  choice.writers = std::min(context_.options.readers, transport.size());
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
               Destination(context_.view[reading.located->variable], *reading.request));
}

void SelectionReader::get_in_two_phases(const Reading& reading) {
  const Located& located = *reading.located;
  const layout::Placement& placement = located.placement();
  const InputVariable& variable = context_.view[located.variable];
  const Destination to(variable, *reading.request);
  exec::Transport& transport = context_.transport;
  const std::vector<int> who = readers();
  storage::File* const file = context_.source.file_of_readers(
      transport, placement, std::binary_search(who.begin(), who.end(), transport.rank()));
  const std::uint64_t share = context_.options.budget_bytes / shares_of_budget;
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
  const InputVariable& variable = context_.view[request.variable];
  const Located& located = locator_.locate_encoded({request.variable, request.step, region});
  exec::Transport& transport = context_.transport;
  exec::EncodedReading reading;
  reading.tiles = &located.tiles;
  reading.region = region;
  reading.pipeline = variable.filters;
  reading.name = context_.view.name_of(request.variable, request.step);
  reading.readers = context_.options.readers > 0 ? plan::RankList(readers())
                                                 : plan::RankList::spaced(0, 1, transport.size());
  reading.budget_bytes = context_.options.budget_bytes;
  reading.threads = context_.storage.in_background() ? exec::idle_cores(transport) : 1;
  reading.file = [&]() -> storage::File& { return context_.source.file(located.placement()); };
  reading.inspect = [&](std::uint64_t tile, std::span<const std::byte> dense) {
    checked_.check_tile(located, tile, dense);
  };
  const Destination to(variable, request);
  reading.finish = [&] { fill_absent(located.placement(), to); };
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

void SelectionReader::get_from_parts(const GetRequest& request, const Box& region) {
  const InputVariable& variable = context_.view[request.variable];
  PartsInput& parts = *context_.parts;
  if (context_.transport.size() > 1 && parts.is_in_one_part(variable, request.step, region)) {
    parts.get_together(context_.transport, variable, request, region);
  } else {
    exec::together(context_.transport, [&] { parts.get(variable, request); });
  }
}

namespace {

/// Rank 0 reads the ranks' boxes one after the other, a portion in each of its rounds; the others
/// count only the rounds in which they receive something.
class RootParty final : public exec::RoundParty {
 public:
  /// Dense bytes of a box, checked; called on rank 0.
  using Read = std::function<void(const Box&, std::span<std::byte>)>;
  /// `wanted`: of all ranks, on rank 0; of this rank alone elsewhere.
  RootParty(int rank, std::vector<Box> wanted, std::uint64_t element_bytes, const Destination& to,
            const Read& read)
      : rank_(rank),
        wanted_(std::move(wanted)),
        element_bytes_(element_bytes),
        to_(to),
        read_(read) {}

  std::uint64_t rounds() const {
    std::uint64_t rounds = 0;
    for (const Box& box : wanted_) {
      rounds += parts_of(box).size();
    }
    return rounds;
  }
  std::vector<exec::RoundMessage> incoming(std::uint64_t) override {
    while (next_ == parts_.size()) {
      reader_ = rank_ == 0 ? static_cast<int>(box_) : rank_;
      parts_ = parts_of(wanted_[box_++]);
      next_ = 0;
    }
    part_ = parts_[next_++];
    return message_if(reader_ == rank_, 0);
  }
  void prepare(std::uint64_t, bool failed) override {
    if (rank_ == 0 && !failed) {
      bytes_.assign(bytes_of_part(), std::byte{0});
      read_(part_, bytes_);
    }
  }
  std::vector<exec::RoundMessage> outgoing(std::uint64_t) override {
    return message_if(rank_ == 0, reader_);
  }
  std::span<const std::byte> in_place(const exec::RoundMessage&) override { return bytes_; }
  void pack(const exec::RoundMessage&, std::span<std::byte>) override {}
  void take(const exec::RoundMessage&, std::span<const std::byte> bytes) override {
    to_.put(part_, bytes);
  }

 private:
  /// The message of the round, if there is one, with the rank at the other end.
  std::vector<exec::RoundMessage> message_if(bool is_there, int rank) const {
    return is_there ? std::vector<exec::RoundMessage>{{rank, bytes_of_part(), 0}}
                    : std::vector<exec::RoundMessage>{};
  }
  std::uint64_t bytes_of_part() const { return part_.volume() * element_bytes_; }
  std::vector<Box> parts_of(const Box& box) const {
    return layout::split(box, element_bytes_, layout::portion_bytes);
  }

  const int rank_;
  const std::vector<Box> wanted_;
  const std::uint64_t element_bytes_;
  const Destination& to_;
  const Read& read_;
  std::size_t box_ = 0;  ///< of wanted_, the next one
  int reader_ = 0;       ///< whose parts_ these are
  std::vector<Box> parts_;
  std::size_t next_ = 0;  ///< of parts_
  Box part_;              ///< of the current round
  std::vector<std::byte> bytes_;
};

}  // namespace

void SelectionReader::get_through_root(const GetRequest& request) {
  exec::Transport& transport = context_.transport;
  const InputVariable& variable = context_.view[request.variable];
  model::ByteWriter wish;
  wish.put(request.box);
  std::vector<Box> wanted;
  for (const auto& one : transport.gather(wish.take(), 0)) {
    wanted.push_back(model::ByteReader(one).get<Box>());
  }
  if (transport.rank() != 0) {
    wanted = {request.box};
  }
  bool is_checked = false;
  const RootParty::Read read = [&](const Box& part, std::span<std::byte> out) {
    if (!is_checked) {
      is_checked = true;
      check_through_root(request, wanted);
    }
    context_.root->catalog().read(variable.catalog_index, request.step, part, out);
  };
  const Destination to(variable, request);
  RootParty party(transport.rank(), wanted, variable.definition.type.bytes, to, read);
  exec::BoundedExchange(transport, exec::read_by_root_tag, 0, party, buffers_.messages)
      .run(party.rounds());
}

void SelectionReader::check_through_root(const GetRequest& request,
                                         std::span<const Box> wanted) const {
  const InputVariable& variable = context_.view[request.variable];
  std::vector<model::OwnedBox> boxes;
  for (const Box& box : wanted) {
    if (!box.empty()) {
      boxes.push_back({box});
    }
  }
  const model::BoxTree tree(boxes);
  std::vector<std::byte> bytes;
  const RecordSet& records =
      context_.root->records_of(context_.view, request.variable, request.step);
  for (const Record& record : records.list()) {
    if (!tree.meets(record.box)) {
      continue;
    }
    bytes.assign(record.box.volume() * variable.definition.type.bytes, std::byte{0});
    context_.root->catalog().read(variable.catalog_index, request.step, record.box, bytes);
    if (codec::checksum(std::span<const std::byte>(bytes)) != record.checksum) {
      checked_.refuse({request.variable, request.step, record.box}, record);
    }
  }
}

}  // namespace sluice::commit
