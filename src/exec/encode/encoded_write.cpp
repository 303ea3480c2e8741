#include "exec/encode/encoded_write.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "codec/checksum.hpp"
#include "exec/encode_pool.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/tags.hpp"
#include "exec/write/emitter.hpp"
#include "exec/write/sink.hpp"
#include "model/bytes.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"

namespace sluice::exec {

using layout::EncodedTile;
using model::Box;

namespace {

/// Of the budget: tiles dense, as they arrive, encoded; what is sent.
constexpr std::uint64_t write_shares_of_budget = 4;
/// Where an owner has enough for them; more would cost more in messages than they hide.
constexpr std::uint64_t rounds_wanted = 4;
constexpr std::uint64_t worth_a_round_bytes = 4ULL << 20;

/// A part of a tile that a rank has.
struct Part {
  std::uint64_t position = 0;  ///< among its owner's tiles
  std::uint32_t variable = 0;  ///< index into EncodedWork::variables
  std::uint64_t tile = 0;
  Box box;
  std::size_t portion = 0;  ///< of the rank that has it
};

/// The range of parts with positions of a round; `parts` ascend.
std::span<const Part> in_round(const std::vector<Part>& parts, std::uint64_t first,
                               std::uint64_t last) {
  const auto at = [&](std::uint64_t position) {
    return std::partition_point(parts.begin(), parts.end(),
                                [&](const Part& part) { return part.position < position; });
  };
  return {at(first), at(last)};
}

class Encoding {
 public:
  Encoding(Transport& transport, const EncodedWork& work)
      : transport_(transport),
        work_(work),
        owners_(work.owners, tile_counts(work)),
        own_(owners_.index_of(transport.rank())),
        packer_(plain_) {
    plain_.definitions = work.definitions;
    plain_.blocks = work.blocks;
    for (const EncodedVariable& v : work.variables) {
      largest_ = std::max(largest_, most_encoded_bytes(v, element(v.variable)));
    }
    largest_ = std::max<std::uint64_t>(1, largest_);
    per_round_ = std::max<std::uint64_t>(1, work.budget_bytes / write_shares_of_budget / largest_);
    // What a round wrote behind goes to the disk while the next one is encoded.
    const std::uint64_t quarter = (owners_.most() + rounds_wanted - 1) / rounds_wanted;
    per_round_ = std::min(per_round_, std::max(quarter, worth_a_round_bytes / largest_ + 1));
    if (own_ >= 0) {
      sink_.emplace(*work.file, *work.writer);
    }
  }

  EncodedResult run() {
    collect();
    announce();
    const std::uint64_t most = owners_.most();
    for (std::uint64_t first = 0; first < most; first += per_round_) {
      round(first, std::min(most, first + per_round_));
    }
    finish_writing();
    finish_words();
    return std::move(result_);
  }

 private:
  struct Dense {
    std::uint32_t variable = 0;
    std::uint64_t tile = 0;
    std::span<std::byte> bytes;
    std::uint64_t covered = 0;  ///< elements that come
  };
  struct Encoded {
    EncodedTile head;
    std::span<const std::byte> bytes;  ///< in the place of the dense ones
  };
  struct Arrival {
    std::span<const Part> parts;
    std::span<std::byte> bytes;
    std::unique_ptr<Pending> pending;
  };

  static std::vector<std::uint64_t> tile_counts(const EncodedWork& work) {
    std::vector<std::uint64_t> counts;
    for (const EncodedVariable& v : work.variables) {
      counts.push_back(layout::grid_of(v.shape, v.tile).volume());
    }
    return counts;
  }
  std::uint32_t element(std::uint32_t variable) const {
    return work_.definitions[variable].type.bytes;
  }
  std::uint64_t bytes_of(const Part& part) const {
    return part.box.volume() * element(work_.variables[part.variable].variable);
  }
  std::uint64_t bytes_of(std::span<const Part> parts) const {
    std::uint64_t sum = 0;
    for (const Part& part : parts) {
      sum += bytes_of(part);
    }
    return sum;
  }

  void collect() {
    std::map<std::uint32_t, std::uint32_t> number;
    for (std::uint32_t i = 0; i < work_.variables.size(); ++i) {
      number[work_.variables[i].variable] = i;
    }
    for (std::size_t p = 0; p < work_.portions.size(); ++p) {
      const layout::Portion& portion = work_.portions[p];
      const std::uint32_t v = number.at(work_.blocks[portion.block].variable);
      const auto place = owners_.place_of(v, portion.piece.tile_index);
      leaving_[place.owner].push_back(
          {place.position, v, portion.piece.tile_index, portion.piece.box, p});
    }
    for (auto& [owner, parts] : leaving_) {
      std::stable_sort(parts.begin(), parts.end(),
                       [](const Part& a, const Part& b) { return a.position < b.position; });
    }
    sums_.resize(work_.checksums ? work_.portions.size() : 0);
  }

  void announce() {
    std::vector<Parcel> parcels;
    for (const auto& [owner, parts] : leaving_) {
      if (static_cast<int>(owner) == own_) {
        continue;
      }
      model::ByteWriter out;
      for (const Part& part : parts) {
        out.put(part.position);
        out.put(part.variable);
        out.put(part.tile);
        out.put(part.box);
        result_.moved_bytes += bytes_of(part);
      }
      parcels.push_back({owners_.owners()[owner], out.take()});
    }
    for (const Parcel& parcel : transport_.exchange(std::move(parcels))) {
      model::ByteReader in(parcel.bytes);
      auto& [rank, parts] = arriving_.emplace_back(parcel.rank, std::vector<Part>{});
      while (!in.at_end()) {
        Part part;
        part.position = in.get<std::uint64_t>();
        part.variable = in.get<std::uint32_t>();
        part.tile = in.get<std::uint64_t>();
        part.box = in.get<Box>();
        parts.push_back(part);
      }
    }
  }

  void round(std::uint64_t first, std::uint64_t last) {
    std::exception_ptr failure;
    make_tiles(first, last);
    std::vector<Arrival> arrivals = post_receives(first, last);
    for (const auto& [owner, parts] : leaving_) {
      const auto now = in_round(parts, first, last);
      if (now.empty()) {
        continue;
      }
      try {
        if (static_cast<int>(owner) == own_) {
          place_own(now);
          continue;
        }
        pack(now, failure);
      } catch (...) {
        failure = std::current_exception();
        continue;  // of own parts: nobody waits for them
      }
      sends_.push_back(transport_.start_send(owners_.owners()[owner], tile_to_encode_tag,
                                             std::span(sent_).subspan(sent_from_, packed_)));
      sent_from_ += packed_;
    }
    for (Arrival& arrival : arrivals) {
      arrival.pending->wait();
      place(arrival.parts, arrival.bytes);
    }
    wait_for_sends();
    try {
      if (!failure) {
        encode();
      }
    } catch (...) {
      failure = std::current_exception();
    }
    agree(transport_, failure);
    write(addresses());
  }

  /// The tiles of the round that anything comes for.
  void make_tiles(std::uint64_t first, std::uint64_t last) {
    tiles_.clear();
    slots_.clear();
    auto note = [&](std::span<const Part> parts) {
      for (const Part& part : parts) {
        const auto [slot, is_new] = slots_.try_emplace(part.position, tiles_.size());
        if (is_new) {
          tiles_.push_back({part.variable, part.tile, {}, 0});
        }
        tiles_[slot->second].covered += part.box.volume();
      }
    };
    for (const auto& [rank, parts] : arriving_) {
      note(in_round(parts, first, last));
    }
    if (own_ >= 0 && leaving_.count(static_cast<std::uint32_t>(own_)) != 0) {
      note(in_round(leaving_.at(static_cast<std::uint32_t>(own_)), first, last));
    }
    if (dense_.size() < tiles_.size() * largest_) {
      dense_.resize(tiles_.size() * largest_);
    }
    for (std::size_t i = 0; i < tiles_.size(); ++i) {
      Dense& tile = tiles_[i];
      const EncodedVariable& v = work_.variables[tile.variable];
      const model::Definition& d = work_.definitions[v.variable];
      const std::uint64_t bytes = v.tile.volume() * d.type.bytes;
      tile.bytes = std::span(dense_).subspan(i * largest_, bytes);
      if (tile.covered < v.tile.volume()) {
        model::fill(tile.bytes, d.type, d.partial ? d.fill : std::vector<std::byte>{});
      }
    }
  }

  std::vector<Arrival> post_receives(std::uint64_t first, std::uint64_t last) {
    std::uint64_t all = 0;
    std::vector<Arrival> arrivals;
    for (const auto& [rank, parts] : arriving_) {
      all += bytes_of(in_round(parts, first, last));
    }
    if (received_.size() < all) {
      received_.resize(all);
    }
    std::uint64_t at = 0;
    for (const auto& [rank, parts] : arriving_) {
      const auto now = in_round(parts, first, last);
      if (!now.empty()) {
        const auto into = std::span(received_).subspan(at, bytes_of(now));
        arrivals.push_back({now, into, transport_.start_receive(rank, tile_to_encode_tag, into)});
        at += into.size();
      }
    }
    return arrivals;
  }

  /// Into sent_ at sent_from_, packed_ bytes. A failure is noted; what is sent then means nothing.
  void pack(std::span<const Part> parts, std::exception_ptr& failure) {
    packed_ = bytes_of(parts);
    const std::uint64_t share = work_.budget_bytes / write_shares_of_budget;
    if (sent_.size() < sent_from_ + packed_) {
      wait_for_sends();
      if (sent_.size() < packed_) {
        sent_.resize(std::max(packed_, std::min<std::uint64_t>(share, total_leaving())));
      }
    }
    std::uint64_t at = sent_from_;
    for (const Part& part : parts) {
      const auto out = std::span(sent_).subspan(at, bytes_of(part));
      try {
        take(part, out);
      } catch (...) {
        failure = std::current_exception();
      }
      at += out.size();
    }
  }

  std::uint64_t total_leaving() const {
    std::uint64_t sum = 0;
    for (const auto& [owner, parts] : leaving_) {
      sum += bytes_of(parts);
    }
    return sum;
  }

  void take(const Part& part, std::span<std::byte> out) {
    packer_.pack(work_.portions[part.portion], out);
    if (work_.checksums) {
      sums_[part.portion] = codec::checksum(std::span<const std::byte>(out));
    }
  }

  void place_own(std::span<const Part> parts) {
    for (const Part& part : parts) {
      const Dense& tile = tiles_[slots_.at(part.position)];
      const EncodedVariable& v = work_.variables[part.variable];
      if (part.box.count == v.tile) {
        take(part, tile.bytes);
        continue;
      }
      scratch_.resize(std::max<std::size_t>(scratch_.size(), bytes_of(part)));
      const auto out = std::span(scratch_).first(bytes_of(part));
      take(part, out);
      place(part, out);
    }
  }

  void place(std::span<const Part> parts, std::span<const std::byte> bytes) {
    for (const Part& part : parts) {
      place(part, bytes.first(bytes_of(part)));
      bytes = bytes.subspan(bytes_of(part));
    }
  }

  void place(const Part& part, std::span<const std::byte> bytes) {
    const Dense& tile = tiles_[slots_.at(part.position)];
    const EncodedVariable& v = work_.variables[part.variable];
    const Box whole{layout::tile_box(v.shape, v.tile, part.tile).start, v.tile};
    model::copy_box(bytes.data(), part.box, tile.bytes.data(), whole, part.box,
                    element(v.variable));
  }

  void wait_for_sends() {
    for (const auto& send : sends_) {
      send->wait();
    }
    sends_.clear();
    sent_from_ = 0;
  }

  void encode() {
    std::vector<RawTile> raw;
    raw.reserve(tiles_.size());
    for (const Dense& tile : tiles_) {
      const EncodedVariable& v = work_.variables[tile.variable];
      raw.push_back({v.variable, &v.pipeline, {tile.bytes.data(), largest_}, tile.bytes.size()});
    }
    const std::vector<CookedTile> cooked = encoder_.encode(raw, work_.threads);
    for (std::size_t i = 0; i < cooked.size(); ++i) {
      encoded_.push_back({{raw[i].variable, cooked[i].mask, tiles_[i].tile, cooked[i].bytes.size()},
                          cooked[i].bytes});
    }
  }

  /// Of this rank's encoded tiles.
  std::vector<std::uint64_t> addresses() {
    std::vector<EncodedTile> heads;
    for (const Encoded& tile : encoded_) {
      heads.push_back(tile.head);
    }
    model::ByteWriter mine;
    mine.put(heads);
    const auto gathered = transport_.gather(mine.take(), 0);
    const auto message = on_root(transport_, 0, [&] {
      std::vector<std::uint64_t> ends;
      std::vector<EncodedTile> all;
      for (const auto& bytes : gathered) {
        model::ByteReader in(bytes);
        const auto some = in.get_vector<EncodedTile>();
        all.insert(all.end(), some.begin(), some.end());
        ends.push_back(all.size());
      }
      model::ByteWriter out;
      out.put(ends);
      out.put(work_.place(all));
      return out.take();
    });
    model::ByteReader in(message);
    const auto ends = in.get_vector<std::uint64_t>();
    const auto all = in.get_vector<std::uint64_t>();
    const auto rank = static_cast<std::size_t>(transport_.rank());
    const auto first = static_cast<std::ptrdiff_t>(rank == 0 ? 0 : ends[rank - 1]);
    return {all.begin() + first, all.begin() + static_cast<std::ptrdiff_t>(ends[rank])};
  }

  /// A failure is kept for the end: the rounds go on for the others' sake.
  void write(const std::vector<std::uint64_t>& addresses) {
    try {
      for (std::size_t i = 0; i < encoded_.size() && !write_failure_; ++i) {
        sink_->write(addresses[i], encoded_[i].bytes);
        result_.written_bytes += encoded_[i].bytes.size();
      }
    } catch (...) {
      write_failure_ = std::current_exception();
    }
    encoded_.clear();
  }

  void finish_writing() {
    try {
      if (sink_ && !write_failure_) {
        sink_->finish();
      }
    } catch (...) {
      write_failure_ = std::current_exception();
    }
    agree(transport_, write_failure_);
  }

  void finish_words() {
    for (std::size_t p = 0; p < sums_.size(); ++p) {
      const layout::Portion& portion = work_.portions[p];
      const std::uint64_t name_hash = work_.name_hashes[work_.blocks[portion.block].variable];
      ChecksumRecord{name_hash, portion.piece.box, sums_[p], work_.rank}.append_to(result_.words);
    }
  }

  Transport& transport_;
  const EncodedWork& work_;
  const plan::TileOwners owners_;
  const int own_;  ///< index of this rank among the owners, -1
  Work plain_;     ///< for the packer
  Packer packer_;
  std::uint64_t largest_ = 0;  ///< bytes of the largest tile, dense or encoded
  std::uint64_t per_round_ = 1;
  std::map<std::uint32_t, std::vector<Part>> leaving_;  ///< by owner
  std::vector<std::pair<int, std::vector<Part>>> arriving_;
  std::vector<std::uint64_t> sums_;  ///< one a portion
  EncodedResult result_;
  std::optional<FileSink> sink_;  ///< on owners
  std::exception_ptr write_failure_;

  // of the round under way
  std::vector<Dense> tiles_;
  std::map<std::uint64_t, std::size_t> slots_;  ///< position to index of tiles_
  std::vector<std::byte> dense_;
  std::vector<std::byte> received_;
  std::vector<std::byte> sent_;
  std::vector<std::byte> scratch_;
  std::uint64_t sent_from_ = 0;
  std::uint64_t packed_ = 0;
  std::vector<std::unique_ptr<Pending>> sends_;
  std::vector<Encoded> encoded_;
  TileEncoder encoder_;
};

}  // namespace

std::uint64_t most_encoded_bytes(const EncodedVariable& variable, std::uint32_t element_bytes) {
  std::uint64_t bytes = variable.tile.volume() * element_bytes;
  for (const codec::Filter& filter : variable.pipeline) {
    bytes += codec::find_method(filter.id)->added_bytes;
  }
  return bytes;
}

EncodedResult write_encoded(Transport& transport, const EncodedWork& work) {
  return Encoding(transport, work).run();
}

}  // namespace sluice::exec
