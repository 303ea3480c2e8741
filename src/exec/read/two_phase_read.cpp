#include "exec/read/two_phase_read.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
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

/// The side of a rank that wants something: parts that fill up.
class Wanted {
 public:
  using Whole = std::function<void(std::size_t, std::span<std::byte>)>;
  Wanted(std::span<const Piece> parts, const Whole& whole, ReadBuffers& buffers)
      : filling_(parts.size()), whole_(whole), buffers_(buffers) {}

  /// Takes packed bytes [at, at + bytes.size()) of a part of `size` bytes.
  void take(std::size_t part, std::uint64_t size, std::uint64_t at,
            std::span<const std::byte> bytes) {
    Filling& filling = filling_[part];
    if (filling.bytes.empty()) {
      if (!buffers_.idle.empty()) {
        filling.bytes = std::move(buffers_.idle.back());
        buffers_.idle.pop_back();
      }
      filling.bytes.resize(std::max<std::size_t>(filling.bytes.size(), size));
    }
    std::memcpy(&filling.bytes[at], bytes.data(), bytes.size());
    filling.come += bytes.size();
    if (filling.come == size) {
      whole_(part, std::span(filling.bytes).first(size));
      buffers_.idle.push_back(std::move(filling.bytes));
      filling.bytes = {};
    }
  }

 private:
  struct Filling {
    std::vector<std::byte> bytes;
    std::uint64_t come = 0;
  };
  std::vector<Filling> filling_;
  const Whole& whole_;
  ReadBuffers& buffers_;
};

/// The parts of this rank by reader.
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

/// One rank's whole part in it.
class Exchange {
 public:
  Exchange(Transport& transport, const ReadMap& map, const std::vector<Share>& shares,
           WindowReader* reader, Wanted& wanted, ReadBuffers& buffers)
      : transport_(transport),
        map_(map),
        shares_(shares),
        reader_(reader),
        wanted_(wanted),
        buffers_(buffers) {}

  void run() {
    const std::uint64_t rounds = map_.rounds();
    for (std::uint64_t r = 0; r < rounds; ++r) {
      round(r);
    }
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  struct Arrival {
    const Share* share = nullptr;
    Range window;
    std::span<std::byte> bytes;
    std::unique_ptr<Pending> pending;
  };

  void round(std::uint64_t number) {
    std::vector<Arrival> arrivals = post_receives(number);
    if (reader_ != nullptr) {
      attempt([&] { reader_->read(number, failure_ != nullptr); });
      send_all();
    }
    for (Arrival& arrival : arrivals) {
      arrival.pending->wait();
      attempt([&] { take(*arrival.share, arrival.window, arrival.bytes); });
    }
    wait_for_sends();
  }

  template <class Action>
  void attempt(Action&& action) {
    try {
      action();
    } catch (...) {
      failure_ = failure_ ? failure_ : std::current_exception();
    }
  }

  std::vector<Arrival> post_receives(std::uint64_t number) {
    std::vector<Arrival> arrivals;
    std::uint64_t total = 0;
    for (std::size_t reader = 0; reader < shares_.size(); ++reader) {
      const Range window = window_of(map_, reader, number);
      const std::uint64_t bytes = shares_[reader].bytes(window);
      if (bytes != 0 && map_.readers[reader] != transport_.rank()) {
        arrivals.push_back({&shares_[reader], window, {}, nullptr});
        total += bytes;
      }
    }
    buffers_.received.resize(std::max<std::size_t>(buffers_.received.size(), total));
    std::uint64_t used = 0;
    for (Arrival& arrival : arrivals) {
      const std::uint64_t bytes = arrival.share->bytes(arrival.window);
      const auto reader = static_cast<std::size_t>(arrival.share - shares_.data());
      arrival.bytes = std::span(buffers_.received).subspan(used, bytes);
      arrival.pending =
          transport_.start_receive(map_.readers[reader], window_read_tag, arrival.bytes);
      used += bytes;
    }
    return arrivals;
  }

  void send_all() {
    const std::size_t own = static_cast<std::size_t>(
        std::find(map_.readers.begin(), map_.readers.end(), transport_.rank()) -
        map_.readers.begin());
    for (const Share& theirs : reader_->shares()) {
      const auto bytes = reader_->message(theirs, [&](std::uint64_t n) { return room_to_send(n); });
      if (bytes.empty()) {
        continue;
      }
      if (theirs.rank == transport_.rank()) {
        attempt([&] { take(shares_[own], reader_->window(), bytes); });
      } else {
        sends_.push_back(transport_.start_send(theirs.rank, window_read_tag, bytes));
      }
    }
  }

  /// The bytes of a share in a window, to the parts that they belong to.
  void take(const Share& share, const Range& window, std::span<const std::byte> bytes) {
    if (failure_) {
      return;
    }
    share.for_each(window, [&](std::size_t i, std::uint64_t from, std::uint64_t to) {
      wanted_.take(share.indices[i], share.runs[i].bytes(), from, bytes.first(to - from));
      bytes = bytes.subspan(to - from);
    });
  }

  std::span<std::byte> room_to_send(std::uint64_t bytes) {
    buffers_.sent.resize(std::max<std::size_t>(buffers_.sent.size(), map_.window_bytes));
    if (used_ + bytes > buffers_.sent.size()) {
      wait_for_sends();
    }
    used_ += bytes;
    return std::span(buffers_.sent).subspan(used_ - bytes, bytes);
  }

  void wait_for_sends() {
    for (const std::unique_ptr<Pending>& send : sends_) {
      send->wait();
    }
    sends_.clear();
    used_ = 0;
  }

  Transport& transport_;
  const ReadMap& map_;
  const std::vector<Share>& shares_;
  WindowReader* reader_;
  Wanted& wanted_;
  ReadBuffers& buffers_;
  std::vector<std::unique_ptr<Pending>> sends_;
  std::uint64_t used_ = 0;  ///< of buffers_.sent by sends_
  std::exception_ptr failure_;
};

}  // namespace

std::uint64_t ReadBuffers::bytes() const {
  std::uint64_t sum = window.size() + sent.size() + received.size();
  for (const std::vector<std::byte>& buffer : idle) {
    sum += buffer.size();
  }
  return sum;
}

std::uint64_t ReadMap::rounds() const {
  std::uint64_t longest = 0;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    longest = std::max(longest, bounds[i + 1] - bounds[i]);
  }
  return (longest + window_bytes - 1) / window_bytes;
}

ReadMap read_map(const layout::Placement& placement, const layout::Extent& space,
                 std::span<const CheckedPiece> records, std::vector<int> readers,
                 std::uint64_t window_bytes) {
  std::uint64_t first = space.offset;
  std::uint64_t last = space.offset + space.length;
  std::vector<Range> taken;  // ascending, and later merged
  for (const CheckedPiece& record : records) {
    const RunList runs(placement, record.piece);
    taken.push_back({runs.begin(), runs.end()});
    first = std::min(first, runs.begin());
    last = std::max(last, runs.end());
  }
  std::sort(taken.begin(), taken.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  ReadMap map;
  map.readers = std::move(readers);
  map.window_bytes = window_bytes;
  map.bounds.push_back(first);
  auto next = taken.begin();
  std::uint64_t reached = first;  // the end of the records that begin before the bound
  const std::uint64_t n = map.readers.size();
  for (std::uint64_t i = 1; i < n; ++i) {
    std::uint64_t bound = std::max(map.bounds.back(), first + (last - first) / n * i);
    for (; next != taken.end() && next->first < std::max(bound, reached); ++next) {
      reached = std::max(reached, next->last);
    }
    bound = std::max(bound, reached);
    map.bounds.push_back(bound);
  }
  map.bounds.push_back(std::max(last, map.bounds.back()));
  return map;
}

std::vector<std::size_t> read_in_rounds(
    Transport& transport, storage::File* file, const layout::Placement& placement,
    const ReadMap& map, std::span<const Piece> parts, std::span<const CheckedPiece> records,
    ReadBuffers& buffers, const std::function<void(std::size_t, std::span<std::byte>)>& whole) {
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
                                            std::move(theirs), records, buffers);
  }
  Wanted wanted(parts, whole, buffers);
  Exchange(transport, map, shares, reader.get(), wanted, buffers).run();
  return reader ? reader->mismatches() : std::vector<std::size_t>{};
}

}  // namespace sluice::exec
