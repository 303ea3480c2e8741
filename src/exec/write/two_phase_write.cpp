#include "exec/write/two_phase_write.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "exec/transport/agree.hpp"
#include "exec/transport/tags.hpp"
#include "model/bytes.hpp"

namespace sluice::exec {

namespace {

/// One exchange of announcements for this many rounds; all announcements of them are held at once.
constexpr std::uint64_t rounds_in_batch = 8;

/// The contribution of a rank to that exchange; the maximum counts.
enum State : std::int64_t { fine = 0, crowded = 1, failed = 2 };

}  // namespace

TwoPhaseWrite::TwoPhaseWrite(Transport& transport, const plan::TileMap& tiles,
                             std::uint64_t window_bytes,
                             std::vector<const layout::Placement*> placements, Window* window,
                             Buffers& buffers)
    : transport_(transport),
      tiles_(tiles),
      window_bytes_(window_bytes),
      placements_(std::move(placements)),
      window_(window),
      buffers_(buffers),
      own_index_(tiles.index_of(transport.rank())),
      sends_(buffers.rounds.sent) {}

bool TwoPhaseWrite::run(RoundSource& source, const plan::OwnRange& range) {
  source_ = &source;
  const std::uint64_t last = (range.last + window_bytes_ - 1) / window_bytes_;
  for (std::uint64_t at = range.first / window_bytes_; at < last; at += rounds_in_batch) {
    if (!batch(at, std::min(last, at + rounds_in_batch))) {
      return false;
    }
  }
  return true;
}

bool TwoPhaseWrite::batch(std::uint64_t first, std::uint64_t last) {
  announce({first * window_bytes_, last * window_bytes_});
  reserve();
  std::int64_t state = fine;
  if (failure_ || (window_ != nullptr && window_->failed())) {
    state = failed;
  } else if (window_ != nullptr && is_crowded(first, last)) {
    state = crowded;
  }
  transport_.allreduce({&state, 1}, Op::max);
  if (state == failed) {
    return false;
  }
  for (std::uint64_t number = first; number < last; ++number) {
    state == crowded ? round_in_turn(number) : round(number);
  }
  return true;
}

/// Here, where a rank without memory can say so: in a round the others wait for its messages.
void TwoPhaseWrite::reserve() noexcept {
  if (failure_) {
    return;
  }
  failure_ = failure_of([&] {
    if (window_ != nullptr) {
      window_->prepare();
    }
    if (!feeds_.empty()) {
      buffers_.rounds.received.reserve(window_bytes_);
    }
    if (!targets_.empty()) {
      buffers_.rounds.sent.reserve(window_bytes_);
    }
  });
}

void TwoPhaseWrite::announce(const plan::OwnRange& range) {
  leaving_ = items_by_writer(source_->items(), tiles_, range);
  targets_.clear();
  for (const auto& [writer, items] : leaving_) {
    targets_.push_back(writer);
  }
  // Each starts with the next writer, so that not all send to the same one.
  std::rotate(targets_.begin(),
              std::partition_point(
                  targets_.begin(), targets_.end(),
                  [&](std::uint32_t w) { return tiles_.writers()[w] <= transport_.rank(); }),
              targets_.end());
  std::vector<Parcel> parcels;
  for (const std::uint32_t writer : targets_) {
    if (static_cast<int>(writer) != own_index_) {
      parcels.push_back({tiles_.writers()[writer], describe(leaving_.at(writer))});
    }
  }
  feeds_.clear();
  for (const Parcel& parcel : transport_.exchange(std::move(parcels))) {
    feeds_.push_back(understand(parcel));
  }
}

std::vector<std::byte> TwoPhaseWrite::describe(const std::vector<std::size_t>& items) const {
  model::ByteWriter out;
  for (const std::size_t i : items) {
    const RoundItem& item = source_->items()[i];
    out.put(item.placement);
    out.put(item.piece.tile_index);
    out.put(item.piece.box);
  }
  return out.take();
}

TwoPhaseWrite::Feed TwoPhaseWrite::understand(const Parcel& parcel) const {
  Feed feed;
  feed.rank = parcel.rank;
  model::ByteReader in(parcel.bytes);
  while (!in.at_end()) {
    const auto placement = in.get<std::uint32_t>();
    layout::Piece piece;
    piece.tile_index = in.get<std::uint64_t>();
    piece.box = in.get<model::Box>();
    feed.pieces.emplace_back(*placements_.at(placement), piece);
  }
  return feed;
}

Stretches TwoPhaseWrite::window_of(std::uint32_t writer, std::uint64_t round) const {
  Stretches stretches;
  tiles_.for_each_stretch(writer, {round * window_bytes_, (round + 1) * window_bytes_},
                          [&](const plan::Stretch& stretch) { stretches.push_back(stretch); });
  return stretches;
}

bool TwoPhaseWrite::is_crowded(std::uint64_t first, std::uint64_t last) const {
  for (std::uint64_t number = first; number < last && own_index_ >= 0; ++number) {
    const Stretches window = window_of(static_cast<std::uint32_t>(own_index_), number);
    std::uint64_t bytes = 0;
    for (const Feed& feed : feeds_) {
      for (const layout::RunList& runs : feed.pieces) {
        bytes += bytes_in(runs, window);
      }
    }
    if (bytes > window_bytes_) {
      return true;
    }
  }
  return false;
}

void TwoPhaseWrite::open_window(const Stretches& window, std::uint64_t number) {
  if (window_ != nullptr) {
    window_->begin(window, number * window_bytes_);
  }
}

void TwoPhaseWrite::round(std::uint64_t number) {
  Stretches window;
  if (own_index_ >= 0) {
    window = window_of(static_cast<std::uint32_t>(own_index_), number);
  }
  open_window(window, number);
  std::vector<Arrival> arrivals = post_receives(window);
  send_all(number);
  place_own(window);
  for (Arrival& arrival : arrivals) {
    arrival.pending->wait();
    if (!arrival.is_placed) {
      place(*arrival.feed, window, arrival.bytes);
    }
  }
  sends_.wait();
  if (window_ != nullptr) {
    window_->end();
  }
}

namespace {

/// If all that `pieces` have in the window is one range of the own space, in their order: that
/// range.
struct OwnRun {
  std::uint64_t bytes = 0;
  std::uint64_t own = 0;
  bool is_one = true;
};

OwnRun own_run(const std::vector<layout::RunList>& pieces, const Stretches& window) {
  OwnRun run;
  for (const layout::RunList& runs : pieces) {
    for_each_part(runs, window,
                  [&](const plan::Stretch& stretch, std::uint64_t from, std::uint64_t to) {
                    const std::uint64_t first = runs.offset_of_packed(from);
                    const std::uint64_t own = stretch.own + (first - stretch.offset);
                    run.own = run.bytes == 0 ? own : run.own;
                    run.is_one = run.is_one && own == run.own + run.bytes &&
                                 runs.offset_of_packed(to - 1) - first == to - 1 - from;
                    run.bytes += to - from;
                  });
  }
  return run;
}

}  // namespace

std::vector<TwoPhaseWrite::Arrival> TwoPhaseWrite::post_receives(const Stretches& window) {
  std::vector<Arrival> arrivals;
  std::uint64_t used = 0;
  for (const Feed& feed : feeds_) {
    const OwnRun run = own_run(feed.pieces, window);
    if (run.bytes == 0) {
      continue;
    }
    Arrival arrival;
    arrival.feed = &feed;
    arrival.is_placed = run.is_one;
    if (run.is_one) {
      arrival.bytes = {window_->at(run.own), run.bytes};
      window_->outcome(run.own, run.bytes);
    } else {
      buffers_.rounds.received.resize(
          std::max<std::size_t>(buffers_.rounds.received.size(), window_bytes_));
      arrival.bytes = std::span(buffers_.rounds.received).subspan(used, run.bytes);
      used += run.bytes;
    }
    arrival.pending = transport_.start_receive(feed.rank, window_tag, arrival.bytes);
    arrivals.push_back(std::move(arrival));
  }
  return arrivals;
}

RoundSource::Bytes TwoPhaseWrite::take(std::size_t item, std::uint64_t from, std::uint64_t to) {
  if (!failure_) {
    try {
      return source_->bytes(item, from, to);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  // The receiver waits for that many bytes; their content does not matter any more.
  buffers_.scratch.resize(std::max<std::size_t>(buffers_.scratch.size(), to - from));
  return {std::span(buffers_.scratch).first(to - from), false};
}

void TwoPhaseWrite::send_all(std::uint64_t number) {
  for (const std::uint32_t writer : targets_) {
    if (static_cast<int>(writer) == own_index_) {
      continue;
    }
    const std::span<const std::byte> bytes =
        message(leaving_.at(writer), window_of(writer, number));
    if (!bytes.empty()) {
      sends_.add(transport_.start_send(tiles_.writers()[writer], window_tag, bytes));
    }
  }
}

std::span<const std::byte> TwoPhaseWrite::message(const std::vector<std::size_t>& items,
                                                  const Stretches& window) {
  std::uint64_t total = 0;
  for (const std::size_t i : items) {
    total += bytes_in(source_->items()[i].runs, window);
  }
  std::span<const std::byte> lying;  // bytes sent without packing, so far
  std::span<std::byte> room;
  std::uint64_t copied = 0;
  for (const std::size_t i : items) {
    for_each_part(
        source_->items()[i].runs, window,
        [&](const plan::Stretch&, std::uint64_t from, std::uint64_t to) {
          const RoundSource::Bytes got = take(i, from, to);
          const std::span<const std::byte> bytes = got.bytes;
          if (room.empty() && got.stays &&
              (lying.empty() || lying.data() + lying.size() == bytes.data())) {
            lying = {lying.empty() ? bytes.data() : lying.data(), lying.size() + bytes.size()};
            return;
          }
          if (room.empty()) {
            room = sends_.room(total, window_bytes_);
            std::copy(lying.begin(), lying.end(), room.begin());
            copied = lying.size();
          }
          std::memcpy(room.data() + copied, bytes.data(), bytes.size());
          copied += bytes.size();
        });
  }
  return room.empty() ? lying : std::span<const std::byte>(room);
}

void TwoPhaseWrite::place_own(const Stretches& window) {
  const auto own =
      own_index_ < 0 ? leaving_.end() : leaving_.find(static_cast<std::uint32_t>(own_index_));
  if (own == leaving_.end()) {
    return;
  }
  for (const std::size_t i : own->second) {
    const layout::RunList& runs = source_->items()[i].runs;
    for_each_part(runs, window,
                  [&](const plan::Stretch& stretch, std::uint64_t from, std::uint64_t to) {
                    window_->place(runs, stretch, take(i, from, to).bytes);
                  });
  }
}

void TwoPhaseWrite::place(const Feed& feed, const Stretches& window,
                          std::span<const std::byte> bytes) {
  for (const layout::RunList& runs : feed.pieces) {
    for_each_part(runs, window,
                  [&](const plan::Stretch& stretch, std::uint64_t from, std::uint64_t to) {
                    window_->place(runs, stretch, bytes.first(to - from));
                    bytes = bytes.subspan(to - from);
                  });
  }
}

void TwoPhaseWrite::round_in_turn(std::uint64_t number) {
  Stretches window;
  if (own_index_ >= 0) {
    window = window_of(static_cast<std::uint32_t>(own_index_), number);
  }
  open_window(window, number);
  auto feed = feeds_.begin();
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank == transport_.rank()) {
      for (const std::uint32_t writer : targets_) {
        const Stretches theirs = window_of(writer, number);
        for (const std::size_t i : leaving_.at(writer)) {
          if (static_cast<int>(writer) != own_index_) {
            for_each_part(source_->items()[i].runs, theirs,
                          [&](const plan::Stretch&, std::uint64_t from, std::uint64_t to) {
                            transport_.send(tiles_.writers()[writer], window_tag,
                                            take(i, from, to).bytes);
                          });
          }
        }
      }
      place_own(window);
      continue;
    }
    for (; feed != feeds_.end() && feed->rank == rank; ++feed) {
      buffers_.rounds.received.resize(
          std::max<std::size_t>(buffers_.rounds.received.size(), window_bytes_));
      for (const layout::RunList& runs : feed->pieces) {
        for_each_part(runs, window,
                      [&](const plan::Stretch& stretch, std::uint64_t from, std::uint64_t to) {
                        const auto into = std::span(buffers_.rounds.received).first(to - from);
                        transport_.receive(rank, window_tag, into);
                        window_->place(runs, stretch, into);
                      });
      }
    }
  }
  if (window_ != nullptr) {
    window_->end();
  }
}

}  // namespace sluice::exec
