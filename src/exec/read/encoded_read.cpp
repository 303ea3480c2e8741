#include "exec/read/encoded_read.hpp"

#include <algorithm>
#include <limits>

#include "exec/encode_pool.hpp"
#include "exec/exchange/bounded_exchange.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/given_up.hpp"
#include "exec/transport/tags.hpp"
#include "layout/read_ahead.hpp"
#include "layout/tile_block.hpp"
#include "model/convert.hpp"
#include "plan/tile_owners.hpp"
#include "sluice/options.hpp"

namespace sluice::exec {

using layout::TileBlock;
using model::Box;

namespace {

/// Shares of the budget: decoded tiles, received bytes, bytes to send, the memory of the coders.
constexpr std::uint64_t read_shares_of_budget = 4;

/// `count` of the ranks, at most all of them, from the first to the last.
plan::RankList spread(const plan::RankList& ranks, std::size_t count) {
  std::vector<int> some;
  for (std::size_t i = 0; i < count; ++i) {
    some.push_back(ranks[i * ranks.size() / count]);
  }
  return some;
}

/// The request of one rank.
struct Wish {
  int rank = 0;
  Box box;
  TileBlock tiles;
};

class Decoding final : public RoundParty {
 public:
  using Deliver = std::function<void(const Box&, std::span<const std::byte>)>;

  Decoding(Transport& transport, const EncodedReading& reading, const Box& mine,
           const Deliver& deliver)
      : transport_(transport),
        reading_(reading),
        placement_(reading.tiles->placement),
        region_(placement_, reading.region),
        mine_{transport.rank(), mine, TileBlock(placement_, mine)},
        deliver_(deliver),
        share_(reading.budget_bytes / read_shares_of_budget),
        owners_(reading.readers, {region_.size()}) {}

  ~Decoding() override { mark_.keep_used(buffers_); }

  void run() {
    if (region_.size() == 0) {
      return;
    }
    bound_readers();
    find_sources();
    choose_rounds();
    own_ = owners_.index_of(transport_.rank());
    ask();
    // Between the messages of a round nobody could be told that there is no memory for them.
    together(transport_, [&] { reserve(); });
    BoundedExchange(transport_, decoded_tile_tag, send_bytes(), *this, buffers_).run(rounds());
  }

  std::vector<RoundMessage> incoming(std::uint64_t round) override {
    first_ = round * per_round_;
    last_ = std::min(owners_.most(), first_ + per_round_);
    std::vector<RoundMessage> messages;
    for (const std::uint32_t reader : sources_) {
      if (const std::uint64_t bytes = bytes_for(mine_, reader, first_, last_); bytes != 0) {
        messages.push_back({rank_of(reader), bytes, reader});
      }
    }
    return messages;
  }
  void prepare(std::uint64_t, bool failed) override {
    if (!failed && !asked_.empty()) {
      decode();
    }
  }
  std::vector<RoundMessage> outgoing(std::uint64_t) override {
    std::vector<RoundMessage> messages;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      if (const std::uint64_t bytes = bytes_for(asked_[i], own(), first_, last_); bytes != 0) {
        messages.push_back({asked_[i].rank, bytes, i});
      }
    }
    return messages;
  }
  std::span<const std::byte> in_place(const RoundMessage&) override { return {}; }
  void pack(const RoundMessage& message, std::span<std::byte> into) override {
    for_each_part(asked_[message.peer], own(), first_, last_,
                  [&](std::uint64_t position, std::uint64_t tile, const Box& part) {
                    const std::uint64_t bytes = part.volume() * placement_.element_bytes();
                    select(slots_[position - first_], tile, part, into.first(bytes));
                    into = into.subspan(bytes);
                  });
  }
  void take(const RoundMessage& message, std::span<const std::byte> bytes) override {
    for_each_part(mine_, static_cast<std::uint32_t>(message.peer), first_, last_,
                  [&](std::uint64_t, std::uint64_t, const Box& part) {
                    const std::uint64_t length = part.volume() * placement_.element_bytes();
                    deliver_(part, bytes.first(length));
                    bytes = bytes.subspan(length);
                  });
  }
  void finish() override {
    if (reading_.finish) {
      reading_.finish();
    }
  }

 private:
  static constexpr std::uint32_t no_slot = std::numeric_limits<std::uint32_t>::max();

  /// The readers of the tiles that this rank's box overlaps.
  void find_sources() {
    sources_.clear();
    for (std::uint64_t at = region_.next(mine_.tiles, 0); at < region_.size();) {
      const std::uint32_t reader = owners_.place_of(0, at).owner;
      sources_.push_back(reader);
      at = region_.next(mine_.tiles, first_of(reader) + owners_.count(reader));
    }
  }

  /// Where a tile alone exceeds a share, as many ranks decode one as their shares allow together.
  void bound_readers() {
    const std::uint64_t tile_bytes = std::max<std::uint64_t>(1, placement_.tile_bytes());
    const std::uint64_t half = reading_.budget_bytes / 2;
    const std::uint64_t readers = owners_.owners().size();
    const std::uint64_t affordable = std::max<std::uint64_t>(1, readers * half / tile_bytes);
    if (tile_bytes > half && affordable < readers) {
      owners_ = plan::TileOwners(spread(owners_.owners(), affordable), {region_.size()});
    }
  }

  /// As many tiles a round as fit the memory of every rank; fewer readers if even one does not fit.
  void choose_rounds() {
    const std::uint64_t tile_bytes = std::max<std::uint64_t>(1, placement_.tile_bytes());
    std::uint64_t most = std::clamp<std::uint64_t>(share_ / tile_bytes, 1, owners_.most());
    while (most > 1 && largest_round(most) > share_) {
      most /= 2;
    }
    // By the maximum of complements, so that one reduction gives the smallest and the largest.
    std::int64_t values[] = {~static_cast<std::int64_t>(most),
                             most == 1 && largest_round(1) > share_ ? 1 : 0};
    transport_.allreduce(values, Op::max);
    per_round_ = static_cast<std::uint64_t>(~values[0]);
    const std::uint64_t affordable = std::max<std::uint64_t>(1, share_ / tile_bytes);
    if (values[1] != 0 && owners_.owners().size() > affordable) {
      owners_ = plan::TileOwners(owners_.owners().first(affordable), {region_.size()});
      find_sources();
    }
  }

  /// The most bytes that this rank receives in a round of `count` tiles a reader.
  std::uint64_t largest_round(std::uint64_t count) const {
    std::uint64_t largest = 0;
    for (std::uint64_t first = 0; first < owners_.most(); first += count) {
      std::uint64_t sum = 0;
      for (const std::uint32_t reader : sources_) {
        sum += rank_of(reader) == transport_.rank()
                   ? 0
                   : bytes_for(mine_, reader, first, first + count);
      }
      largest = std::max(largest, sum);
    }
    return largest;
  }

  std::uint64_t rounds() const { return (owners_.most() + per_round_ - 1) / per_round_; }
  /// What is sent at once.
  std::uint64_t send_bytes() const { return share_ / 4; }

  /// The memory of every round, in which each rank sends what it has decoded.
  void reserve() {
    std::uint64_t most_bytes = 0;
    for (std::uint64_t round = 0; round < rounds(); ++round) {
      std::uint64_t sum = 0;
      std::uint64_t largest = 0;
      for (const Wish& wish : asked_) {
        const std::uint64_t bytes =
            bytes_for(wish, own(), round * per_round_, (round + 1) * per_round_);
        sum += bytes;
        largest = std::max(largest, bytes);
      }
      most_bytes = std::max({most_bytes, largest, std::min(sum, send_bytes())});
    }
    grow(buffers_.sent, most_bytes);
    grow(buffers_.received, largest_round(per_round_));
  }

  static void grow(std::vector<std::byte>& memory, std::uint64_t bytes) {
    memory.resize(std::max<std::size_t>(memory.size(), bytes));
  }

  int rank_of(std::uint32_t reader) const { return owners_.owners()[reader]; }

  /// The first tile of a reader, by its number in the region.
  std::uint64_t first_of(std::uint32_t reader) const { return owners_.tile_at(reader, 0).tile; }

  /// The parts of a request at positions [first, last) of a reader, of tiles that exist.
  template <class Visit>
  void for_each_part(const Wish& wish, std::uint32_t reader, std::uint64_t first,
                     std::uint64_t last, Visit&& visit) const {
    const std::uint64_t begin = first_of(reader);
    const std::uint64_t end = begin + std::min(last, owners_.count(reader));
    for (std::uint64_t at = region_.next(wish.tiles, begin + first); at < end;
         at = region_.next(wish.tiles, at + 1)) {
      const std::uint64_t tile = region_.tile(at);
      if (placement_.address(tile) == layout::absent) {
        continue;
      }
      if (const auto part = model::intersect(placement_.tile_box(tile), wish.box)) {
        visit(at - begin, tile, *part);
      }
    }
  }

  std::uint64_t bytes_for(const Wish& wish, std::uint32_t reader, std::uint64_t first,
                          std::uint64_t last) const {
    std::uint64_t sum = 0;
    for_each_part(wish, reader, first, last, [&](std::uint64_t, std::uint64_t, const Box& part) {
      sum += part.volume() * placement_.element_bytes();
    });
    return sum;
  }

  void ask() {
    model::ByteWriter out;
    out.put(mine_.box);
    const std::vector<std::byte> box = out.take();
    std::vector<Parcel> parcels;
    parcels.reserve(sources_.size());
    for (const std::uint32_t reader : sources_) {
      parcels.push_back({rank_of(reader), box});
    }
    for (const Parcel& parcel : transport_.exchange(std::move(parcels))) {
      model::ByteReader in(parcel.bytes);
      const Box wanted = in.get<Box>();
      asked_.push_back({parcel.rank, wanted, TileBlock(placement_, wanted)});
    }
  }

  /// Assigns slots to the requested tiles of the round; returns them by slot.
  std::vector<std::uint64_t> wanted_tiles() {
    slots_.assign(last_ - first_, no_slot);
    std::vector<std::uint64_t> tiles;
    for (const Wish& wish : asked_) {
      for_each_part(wish, own(), first_, last_,
                    [&](std::uint64_t position, std::uint64_t tile, const Box&) {
                      std::uint32_t& slot = slots_[position - first_];
                      if (slot == no_slot) {
                        slot = static_cast<std::uint32_t>(tiles.size());
                        tiles.push_back(tile);
                      }
                    });
    }
    return tiles;
  }

  void decode() {
    const std::vector<std::uint64_t> tiles = wanted_tiles();
    if (tiles.empty()) {
      return;
    }
    const std::uint64_t tile_bytes = placement_.tile_bytes();
    if (decoders_.empty()) {
      for (std::size_t i = 0; i < reading_.threads; ++i) {
        decoders_.emplace_back(reading_.pipeline, reading_.name,
                               layout::longest_tile(reading_.budget_bytes));
      }
      decoders_.front().require_small(*reading_.tiles);
    }
    const std::span<std::byte> room = dense_.take(tiles.size() * tile_bytes);
    storage::File& file = reading_.file();
    const auto ahead = layout::read_ahead(file, placement_, reading_.tiles->sizes, tiles);
    for_each_in_threads(tiles.size(), reading_.threads, [&](std::size_t thread, std::size_t slot) {
      const auto dense = room.subspan(slot * tile_bytes, placement_.tile_bytes(tiles[slot]));
      decoders_[thread].read(file, *reading_.tiles, tiles[slot], dense);
      if (reading_.inspect) {
        reading_.inspect(tiles[slot], dense);
      }
    });
  }

  void select(std::uint32_t slot, std::uint64_t tile, const Box& part,
              std::span<std::byte> out) const {
    const std::byte* dense = dense_.data() + slot * placement_.tile_bytes();
    model::copy_box(dense, placement_.whole_tile(tile), out.data(), part, part,
                    placement_.element_bytes());
  }

  /// The number of this rank among the readers; only if a rank has sent it a request.
  std::uint32_t own() const { return static_cast<std::uint32_t>(own_); }

  Transport& transport_;
  const EncodedReading& reading_;
  const layout::Placement& placement_;
  const TileBlock region_;
  const Wish mine_;
  const Deliver& deliver_;
  const std::uint64_t share_;
  plan::TileOwners owners_;             ///< tiles of the region, by their number in it
  std::vector<std::uint32_t> sources_;  ///< readers of this rank's request, ascending
  std::vector<Wish> asked_;             ///< requests to this rank, by others and by itself
  int own_ = -1;
  std::uint64_t per_round_ = 1;

  // of the current round: positions [first_, last_) of every reader
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  std::vector<std::uint32_t> slots_;           ///< by position from first_: offset in dense_
  std::vector<layout::TileDecoder> decoders_;  ///< one a thread
  codec::ScratchMemory dense_;
  ExchangeBuffers buffers_;
  const MessageMark mark_;
};

}  // namespace

void read_encoded(Transport& transport, const EncodedReading& reading, const Box& mine,
                  const std::function<void(const Box&, std::span<const std::byte>)>& deliver) {
  Decoding(transport, reading, mine, deliver).run();
}

}  // namespace sluice::exec
