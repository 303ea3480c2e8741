#include "exec/encoded_read.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

#include "exec/agree.hpp"
#include "exec/encode_pool.hpp"
#include "model/bytes.hpp"
#include "model/convert.hpp"
#include "plan/tile_owners.hpp"

namespace sluice::exec {

using model::Box;

namespace {

constexpr int chunk_request_tag = 302;
/// Of the budget: tiles decoded, what is received, what is sent, the coders' own.
constexpr std::uint64_t read_shares_of_budget = 4;

class Decoding {
 public:
  using Deliver = std::function<void(const Box&, std::span<std::byte>)>;

  Decoding(Transport& transport, const EncodedReading& reading, const Box& mine,
           const Deliver& deliver)
      : transport_(transport),
        reading_(reading),
        placement_(reading.tiles->placement),
        mine_(mine),
        deliver_(deliver),
        share_(reading.budget_bytes / read_shares_of_budget),
        readers_(reading.readers) {}

  void run() {
    gather_boxes();
    if (wanted_.empty()) {
      return;
    }
    choose_rounds();
    const std::uint64_t most = owners_->most();
    for (std::uint64_t first = 0; first < most; first += per_round_) {
      round(first, std::min(most, first + per_round_));
    }
    agree(transport_, failure_);
  }

 private:
  struct Arrival {
    std::size_t reader = 0;
    std::span<std::byte> bytes;
    std::unique_ptr<Pending> pending;
  };

  void gather_boxes() {
    model::ByteWriter out;
    out.put(mine_);
    std::vector<bool> is_wanted(placement_.tiles());
    for (const auto& bytes : transport_.allgather(out.take())) {
      model::ByteReader in(bytes);
      boxes_.push_back(in.get<Box>());
      for (const layout::Piece& piece : layout::cut(placement_, boxes_.back())) {
        is_wanted[piece.tile_index] = true;
      }
    }
    for (std::uint64_t tile = 0; tile < is_wanted.size(); ++tile) {
      if (is_wanted[tile] && placement_.address(tile) != layout::absent) {
        wanted_.push_back(tile);
      }
    }
  }

  /// As many tiles a round as every rank has room for; fewer readers where even one is too many.
  void choose_rounds() {
    owners_.emplace(readers_, std::vector<std::uint64_t>{wanted_.size()});
    const std::uint64_t tile_bytes = std::max<std::uint64_t>(1, placement_.tile_bytes());
    std::uint64_t most = std::clamp<std::uint64_t>(share_ / tile_bytes, 1, owners_->most());
    while (most > 1 && largest_round(most) > share_) {
      most /= 2;
    }
    // By the largest of complements, so that one reduction gives the smallest and the largest.
    std::int64_t values[] = {~static_cast<std::int64_t>(most),
                             most == 1 && largest_round(1) > share_ ? 1 : 0};
    transport_.allreduce(values, Op::max);
    per_round_ = static_cast<std::uint64_t>(~values[0]);
    const std::uint64_t affordable = std::max<std::uint64_t>(1, share_ / tile_bytes);
    if (values[1] != 0 && readers_.size() > affordable) {
      readers_.resize(affordable);
      owners_.emplace(readers_, std::vector<std::uint64_t>{wanted_.size()});
    }
  }

  /// The most bytes that this rank receives in a round of `count` tiles a reader.
  std::uint64_t largest_round(std::uint64_t count) const {
    std::uint64_t largest = 0;
    for (std::uint64_t first = 0; first < owners_->most(); first += count) {
      std::uint64_t sum = 0;
      for (std::size_t reader = 0; reader < readers_.size(); ++reader) {
        sum += readers_[reader] == transport_.rank()
                   ? 0
                   : bytes_for(mine_, reader, first, first + count);
      }
      largest = std::max(largest, sum);
    }
    return largest;
  }

  template <class Visit>
  void for_each_part(const Box& box, std::size_t reader, std::uint64_t first, std::uint64_t last,
                     Visit&& visit) const {
    const auto who = static_cast<std::uint32_t>(reader);
    last = std::min(last, owners_->count(who));
    for (std::uint64_t position = first; position < last; ++position) {
      const std::uint64_t tile = wanted_[owners_->tile_at(who, position).tile];
      if (const auto part = model::intersect(placement_.tile_box(tile), box)) {
        visit(position, tile, *part);
      }
    }
  }

  std::uint64_t bytes_for(const Box& box, std::size_t reader, std::uint64_t first,
                          std::uint64_t last) const {
    std::uint64_t sum = 0;
    for_each_part(box, reader, first, last, [&](std::uint64_t, std::uint64_t, const Box& part) {
      sum += part.volume() * placement_.element_bytes();
    });
    return sum;
  }

  void round(std::uint64_t first, std::uint64_t last) {
    std::vector<Arrival> arrivals = post_receives(first, last);
    const int own = owners_->index_of(transport_.rank());
    if (own >= 0) {
      decode(static_cast<std::size_t>(own), first, last);
      for (int rank = 0; rank < transport_.size(); ++rank) {
        send(static_cast<std::size_t>(own), rank, first, last);
      }
    }
    for (Arrival& arrival : arrivals) {
      arrival.pending->wait();
      std::span<std::byte> rest = arrival.bytes;
      for_each_part(mine_, arrival.reader, first, last,
                    [&](std::uint64_t, std::uint64_t, const Box& part) {
                      const std::uint64_t bytes = part.volume() * placement_.element_bytes();
                      hand_over(part, rest.first(bytes));
                      rest = rest.subspan(bytes);
                    });
    }
    wait_for_sends();
  }

  std::vector<Arrival> post_receives(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> lengths(readers_.size(), 0);
    std::uint64_t all = 0;
    for (std::size_t reader = 0; reader < readers_.size(); ++reader) {
      if (readers_[reader] != transport_.rank()) {
        lengths[reader] = bytes_for(mine_, reader, first, last);
        all += lengths[reader];
      }
    }
    if (received_.size() < all) {
      received_.resize(all);
    }
    std::vector<Arrival> arrivals;
    std::uint64_t at = 0;
    for (std::size_t reader = 0; reader < readers_.size(); ++reader) {
      if (lengths[reader] != 0) {
        const auto into = std::span(received_).subspan(at, lengths[reader]);
        arrivals.push_back(
            {reader, into, transport_.start_receive(readers_[reader], chunk_request_tag, into)});
        at += lengths[reader];
      }
    }
    return arrivals;
  }

  void decode(std::size_t own, std::uint64_t first, std::uint64_t last) {
    const auto who = static_cast<std::uint32_t>(own);
    last = std::min(last, owners_->count(who));
    first_ = first;
    if (first >= last || failure_) {
      return;
    }
    try {
      const std::uint64_t tile_bytes = placement_.tile_bytes();
      if (decoders_.empty()) {
        for (std::size_t i = 0; i < reading_.threads; ++i) {
          decoders_.emplace_back(reading_.pipeline, reading_.name,
                                 share_ * read_shares_of_budget / 2);
        }
        decoders_.front().require_small(*reading_.tiles);
      }
      dense_.resize(std::max<std::size_t>(dense_.size(), (last - first) * tile_bytes));
      storage::File& file = reading_.file();
      for_each_in_threads(last - first, reading_.threads, [&](std::size_t thread, std::size_t i) {
        const std::uint64_t tile = wanted_[owners_->tile_at(who, first + i).tile];
        const auto dense = std::span(dense_).subspan(i * tile_bytes, tile_bytes);
        decoders_[thread].read(file, *reading_.tiles, tile, dense);
        if (reading_.inspect) {
          reading_.inspect(tile, dense);
        }
      });
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  void send(std::size_t own, int rank, std::uint64_t first, std::uint64_t last) {
    const Box& box = boxes_[static_cast<std::size_t>(rank)];
    const std::uint64_t bytes = bytes_for(box, own, first, last);
    if (bytes == 0) {
      return;
    }
    if (sent_.size() < sent_from_ + bytes) {
      wait_for_sends();
      sent_.resize(std::max<std::size_t>(sent_.size(), std::max(bytes, share_ / 4)));
    }
    const auto out = std::span(sent_).subspan(sent_from_, bytes);
    std::span<std::byte> rest = out;
    for_each_part(box, own, first, last,
                  [&](std::uint64_t position, std::uint64_t tile, const Box& part) {
                    const auto here = rest.first(part.volume() * placement_.element_bytes());
                    rest = rest.subspan(here.size());
                    if (!failure_) {
                      select(position, tile, part, here);
                    }
                    if (rank == transport_.rank()) {
                      hand_over(part, here);
                    }
                  });
    if (rank != transport_.rank()) {
      sends_.push_back(transport_.start_send(rank, chunk_request_tag, out));
      sent_from_ += bytes;
    }
  }

  void select(std::uint64_t position, std::uint64_t tile, const Box& part,
              std::span<std::byte> out) const {
    const std::byte* dense = dense_.data() + (position - first_) * placement_.tile_bytes();
    const Box whole{placement_.tile_box(tile).start, placement_.tile()};
    model::copy_box(dense, whole, out.data(), part, part, placement_.element_bytes());
  }

  void hand_over(const Box& part, std::span<std::byte> bytes) {
    try {
      if (!failure_) {
        deliver_(part, bytes);
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  void wait_for_sends() {
    for (const auto& send : sends_) {
      send->wait();
    }
    sends_.clear();
    sent_from_ = 0;
  }

  Transport& transport_;
  const EncodedReading& reading_;
  const layout::Placement& placement_;
  const Box& mine_;
  const Deliver& deliver_;
  const std::uint64_t share_;
  std::vector<int> readers_;
  std::vector<Box> boxes_;             ///< of every rank
  std::vector<std::uint64_t> wanted_;  ///< tiles, ascending
  std::optional<plan::TileOwners> owners_;
  std::uint64_t per_round_ = 1;
  std::exception_ptr failure_;

  // of the round under way
  std::uint64_t first_ = 0;
  std::vector<layout::TileDecoder> decoders_;  ///< one a thread
  std::vector<std::byte> dense_;
  std::vector<std::byte> received_;
  std::vector<std::byte> sent_;
  std::uint64_t sent_from_ = 0;
  std::vector<std::unique_ptr<Pending>> sends_;
};

}  // namespace

void read_encoded(Transport& transport, const EncodedReading& reading, const Box& mine,
                  const std::function<void(const Box&, std::span<std::byte>)>& deliver) {
  Decoding(transport, reading, mine, deliver).run();
}

}  // namespace sluice::exec
