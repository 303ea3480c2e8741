#include "exec/read/two_phase_read.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "exec/read/window_reader.hpp"
#include "exec/transport/tags.hpp"
#include "layout/runs.hpp"
#include "model/bytes.hpp"

namespace sluice::exec {

namespace {

using layout::Piece;
using layout::RunList;

std::uint64_t bytes_in(const RunList& runs, const Range& range) {
  return runs.packed_before(range.last) - runs.packed_before(range.first);
}

/// The receiving side of a rank: parts that are filled piece by piece.
class Wanted {
 public:
  Wanted(std::span<const Piece> parts, const ReadSink& sink, ReadBuffers& buffers)
      : filling_(parts.size()), sink_(sink), buffers_(buffers) {}

  /// The memory of packed bytes [from, to) of a part of `size` bytes, if they are put together in
  /// memory of the sink; empty otherwise.
  std::span<std::byte> place(std::size_t part, std::uint64_t size, std::uint64_t from,
                             std::uint64_t to) {
    Filling& filling = filling_[part];
    if (!filling.is_placed) {
      filling.is_placed = true;
      filling.place = sink_.place(part);
    }
    return filling.place.size() == size ? filling.place.subspan(from, to - from)
                                        : std::span<std::byte>{};
  }

  /// Receives packed bytes [at, at + bytes.size()) of a part of `size` bytes, which may be where
  /// they belong.
  void take(std::size_t part, std::uint64_t size, std::uint64_t at,
            std::span<const std::byte> bytes) {
    Filling& filling = filling_[part];
    std::span<std::byte> to = place(part, size, at, at + bytes.size());
    if (to.empty()) {
      to = room_of(filling, size).subspan(at, bytes.size());
    }
    if (to.data() != bytes.data()) {
      std::memcpy(to.data(), bytes.data(), bytes.size());
    }
    filling.come += bytes.size();
    if (filling.come == size) {
      const bool is_in_place = filling.bytes.empty();
      sink_.whole(part, is_in_place ? filling.place : std::span(filling.bytes).first(size));
      if (!is_in_place) {
        buffers_.idle.push_back(std::move(filling.bytes));
        filling.bytes = {};
      }
    }
  }

 private:
  struct Filling {
    bool is_placed = false;        ///< the sink was asked
    std::span<std::byte> place;    ///< by the sink
    std::vector<std::byte> bytes;  ///< without such a place
    std::uint64_t come = 0;
  };
  std::span<std::byte> room_of(Filling& filling, std::uint64_t size) {
    if (filling.bytes.empty()) {
      if (!buffers_.idle.empty()) {
        filling.bytes = std::move(buffers_.idle.back());
        buffers_.idle.pop_back();
      }
      filling.bytes.resize(std::max<std::size_t>(filling.bytes.size(), size));
    }
    return filling.bytes;
  }

  std::vector<Filling> filling_;
  const ReadSink& sink_;
  ReadBuffers& buffers_;
};

/// The parts of this rank, by reader.
std::vector<Share> share_out(const layout::Placement& placement, const ReadMap& map,
                             std::span<const Piece> parts) {
  std::vector<RunList> runs;
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (const Piece& part : parts) {
    runs.emplace_back(placement, part);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return runs[a].begin() < runs[b].begin(); });
  std::vector<Share> shares(map.readers.size());
  for (const std::size_t i : order) {
    const auto after = std::upper_bound(map.bounds.begin(), map.bounds.end(), runs[i].begin());
    std::size_t reader = static_cast<std::size_t>(after - map.bounds.begin()) - 1;
    for (; reader < shares.size() && map.bounds[reader] < runs[i].end(); ++reader) {
      if (bytes_in(runs[i], {map.bounds[reader], map.bounds[reader + 1]}) != 0) {
        shares[reader].indices.push_back(i);
        shares[reader].runs.push_back(runs[i]);
        shares[reader].pieces.push_back(parts[i]);
      }
    }
  }
  return shares;
}

std::vector<std::byte> describe(const Share& share) {
  model::ByteWriter out;
  for (const Piece& piece : share.pieces) {
    out.put(piece.tile_index);
    out.put(piece.box);
  }
  return out.take();
}

Share understand(const layout::Placement& placement, const Parcel& parcel) {
  Share share;
  share.rank = parcel.rank;
  model::ByteReader in(parcel.bytes);
  while (!in.at_end()) {
    Piece piece;
    piece.tile_index = in.get<std::uint64_t>();
    piece.box = in.get<model::Box>();
    share.pieces.push_back(piece);
    share.runs.emplace_back(placement, piece);
  }
  return share;
}

/// The messages of a rank: what it requests from all readers, and what it sends as a reader.
class ReadParty final : public RoundParty {
 public:
  /// `reader`: set on readers, else nullptr.
  ReadParty(const ReadMap& map, const std::vector<Share>& shares, WindowReader* reader,
            Wanted& wanted, const ReadSink& sink)
      : map_(map), shares_(shares), reader_(reader), wanted_(wanted), sink_(sink) {}

  std::vector<RoundMessage> incoming(std::uint64_t round) override {
    round_ = round;
    std::vector<RoundMessage> messages;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      if (const std::uint64_t bytes = shares_[i].bytes(window_of(map_, i, round)); bytes != 0) {
        messages.push_back({map_.readers[i], bytes, i});
      }
    }
    return messages;
  }
  /// The memory of the sink, if all of the message has one run of it.
  std::span<std::byte> landing(const RoundMessage& message) override {
    const Share& share = shares_[message.peer];
    std::span<std::byte> all;
    bool is_one = true;
    share.for_each(window_of(map_, message.peer, round_), [&](std::size_t i, std::uint64_t from,
                                                              std::uint64_t to) {
      const std::span<std::byte> place =
          wanted_.place(share.indices[i], share.runs[i].bytes(), from, to);
      is_one = is_one && !place.empty() && (all.empty() || all.data() + all.size() == place.data());
      all = {all.empty() ? place.data() : all.data(), all.size() + place.size()};
    });
    return is_one ? all : std::span<std::byte>{};
  }
  void prepare(std::uint64_t round, bool failed) override {
    if (reader_ != nullptr) {
      reader_->read(round, failed);
    }
  }
  std::vector<RoundMessage> outgoing(std::uint64_t) override {
    return reader_ != nullptr ? reader_->messages() : std::vector<RoundMessage>{};
  }
  std::span<const std::byte> in_place(const RoundMessage& message) override {
    return reader_->in_place(message);
  }
  void pack(const RoundMessage& message, std::span<std::byte> into) override {
    reader_->pack(message, into);
  }
  /// Copies the bytes of a share in its reader's window to the parts that they belong to.
  void take(const RoundMessage& message, std::span<const std::byte> bytes) override {
    const Share& share = shares_[message.peer];
    share.for_each(window_of(map_, message.peer, round_), [&](std::size_t i, std::uint64_t from,
                                                              std::uint64_t to) {
      wanted_.take(share.indices[i], share.runs[i].bytes(), from, bytes.first(to - from));
      bytes = bytes.subspan(to - from);
    });
  }
  void finish() override {
    sink_.finish(reader_ != nullptr ? reader_->mismatches() : std::span<const std::size_t>{});
  }

 private:
  const ReadMap& map_;
  const std::vector<Share>& shares_;
  WindowReader* reader_;
  Wanted& wanted_;
  const ReadSink& sink_;
  std::uint64_t round_ = 0;
};

}  // namespace

std::uint64_t ReadBuffers::bytes() const {
  std::uint64_t sum = window.size() + messages.bytes();
  for (const std::vector<std::byte>& buffer : idle) {
    sum += buffer.size();
  }
  return sum;
}

void read_in_rounds(Transport& transport, storage::File* file, const layout::Placement& placement,
                    const ReadMap& map, std::span<const Piece> parts,
                    std::span<const CheckedPiece> records, ReadBuffers& buffers,
                    const ReadSink& sink) {
  const std::vector<Share> shares = share_out(placement, map, parts);
  std::vector<Parcel> wishes;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (!shares[i].pieces.empty()) {
      wishes.push_back({map.readers[i], describe(shares[i])});
    }
  }
  std::vector<Share> theirs;
  for (const Parcel& parcel : transport.exchange(std::move(wishes))) {
    theirs.push_back(understand(placement, parcel));
  }
  const auto own = std::find(map.readers.begin(), map.readers.end(), transport.rank());
  std::unique_ptr<WindowReader> reader;
  if (own != map.readers.end()) {
    reader = std::make_unique<WindowReader>(*file, placement, map,
                                            static_cast<std::size_t>(own - map.readers.begin()),
                                            std::move(theirs), records, buffers.window);
  }
  Wanted wanted(parts, sink, buffers);
  ReadParty party(map, shares, reader.get(), wanted, sink);
  BoundedExchange(transport, window_read_tag, map.window_bytes, party, buffers.messages)
      .run(map.rounds());
}

}  // namespace sluice::exec
