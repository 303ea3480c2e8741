#include "exec/encode/round_encoder.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "exec/encode/provisional_file.hpp"
#include "model/bytes.hpp"
#include "model/fill.hpp"

namespace sluice::exec {

namespace {

/// Direct writes need memory with the same offset within a page as in the file.
constexpr std::uint64_t write_page_bytes = 4096;

}  // namespace

std::vector<std::byte> RoundSizes::to_bytes() const {
  model::ByteWriter out;
  out.put(outcome);
  out.put(tiles);
  return out.take();
}

RoundSizes RoundSizes::from_bytes(std::span<const std::byte> bytes) {
  RoundSizes sizes;
  if (!bytes.empty()) {
    model::ByteReader in(bytes);
    sizes.outcome = in.get<Outcome>();
    sizes.tiles = in.get_vector<layout::EncodedTile>();
  }
  return sizes;
}

RoundPlaces RoundPlaces::of(std::size_t sender) const {
  RoundPlaces part{outcome, plan, {}};
  const auto own = std::ranges::lower_bound(ends, sender, {}, &End::sender);
  if (outcome.failed == 0 && own != ends.end() && own->sender == sender) {
    const std::uint64_t first = own == ends.begin() ? 0 : std::prev(own)->end;
    part.addresses.assign(addresses.begin() + static_cast<std::ptrdiff_t>(first),
                          addresses.begin() + static_cast<std::ptrdiff_t>(own->end));
  }
  return part;
}

std::vector<std::byte> RoundPlaces::to_bytes() const {
  model::ByteWriter out;
  out.put(outcome);
  out.put(plan);
  out.put(addresses);
  out.put(ends);
  return out.take();
}

RoundPlaces RoundPlaces::from_bytes(std::span<const std::byte> bytes) {
  model::ByteReader in(bytes);
  RoundPlaces places;
  places.outcome = in.get<Outcome>();
  places.plan = in.get_vector<std::byte>();
  places.addresses = in.get_vector<std::uint64_t>();
  places.ends = in.get_vector<End>();
  return places;
}

RoundPlaces place_round(
    std::uint64_t commit, std::span<const RoundSizes> sizes, const std::exception_ptr& earlier,
    int rank, const std::function<RoundPlaces(std::span<const layout::EncodedTile>)>& place) {
  std::exception_ptr failure = earlier;
  std::vector<layout::EncodedTile> tiles;
  std::vector<RoundPlaces::End> ends;
  for (std::size_t sender = 0; sender < sizes.size(); ++sender) {
    const RoundSizes& some = sizes[sender];
    failure = failure ? failure : some.outcome.failure();
    tiles.insert(tiles.end(), some.tiles.begin(), some.tiles.end());
    if (!some.tiles.empty()) {
      ends.push_back({sender, tiles.size()});
    }
  }
  RoundPlaces places;
  if (!failure) {
    try {
      places = place(tiles);
      places.ends = std::move(ends);
    } catch (...) {
      failure = std::current_exception();
      places = {};
    }
  }
  places.outcome = Outcome(commit, failure, rank);
  return places;
}

class RoundEncoder::DenseFile final : public ProvisionalFile {
 public:
  DenseFile(std::string path, RoundEncoder& owner)
      : ProvisionalFile(std::move(path)), owner_(owner) {}
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    owner_.take(offset, bytes);
  }

 private:
  RoundEncoder& owner_;
};

RoundEncoder::RoundEncoder(const Config& config, std::uint64_t commit, const EncodedRounds& rounds,
                           std::span<const model::Definition> definitions)
    : config_(config),
      commit_(commit),
      rounds_(rounds),
      own_(rounds.owners().index_of(config.rank)),
      dense_(std::make_unique<DenseFile>(config.path, *this)) {
  for (const EncodedVariable& v : rounds_.variables()) {
    const model::Definition& d = definitions[v.variable];
    elements_.push_back({d.type, d.hole_fill()});
  }
}

RoundEncoder::~RoundEncoder() = default;

storage::File& RoundEncoder::dense_file() noexcept { return *dense_; }

WindowMemory RoundEncoder::dense_memory() {
  make_room();
  return {config_.room.staging->data() + write_page_bytes, config_.room.came};
}

void RoundEncoder::make_room() {
  std::unique_ptr<Staging>& staging = config_.room.staging;
  const std::uint64_t wanted = write_page_bytes + rounds_.held_bytes();
  if (!staging || staging->size() < wanted) {
    staging.reset();
    staging = StagingPool::of_process().take_staging(wanted, config_.room.budget_bytes, true);
  }
  has_room_ = true;
}

void RoundEncoder::take(std::uint64_t offset, std::span<const std::byte> bytes) {
  make_room();
  const std::uint64_t stride = rounds_.stride_bytes();
  const std::uint64_t owners = rounds_.owners().owners().size();
  while (!bytes.empty()) {
    const std::uint64_t position = offset / stride / owners;
    const std::uint64_t inside = offset % stride;
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), stride - inside);
    std::memcpy(room_of(position).data() + inside, bytes.data(), count);
    config_.room.came.set(position * stride + inside, count);
    bytes = bytes.subspan(count);
    offset += count;
  }
}

std::span<std::byte> RoundEncoder::room_of(std::uint64_t position) const {
  const std::uint64_t stride = rounds_.stride_bytes();
  return {config_.room.staging->data() + write_page_bytes + position * stride, stride};
}

/// False if no bytes of the tile arrived.
bool RoundEncoder::fill_holes(std::uint64_t position, std::uint64_t dense_bytes,
                              const Element& element) {
  const model::Bits& came = config_.room.came;
  const std::uint64_t begin = position * rounds_.stride_bytes();
  const std::uint64_t end = begin + dense_bytes;
  if (came.find(true, begin, end) == end) {
    return false;
  }
  const std::span<std::byte> room = room_of(position);
  for (std::uint64_t hole = came.find(false, begin, end); hole != end;) {
    const std::uint64_t next = came.find(true, hole, end);
    model::fill(room.subspan(hole - begin, next - hole), element.type, element.fill);
    hole = came.find(false, next, end);
  }
  return true;
}

void RoundEncoder::encode_tiles(RoundSizes& sizes) {
  std::vector<DenseTile> dense;
  const auto own = static_cast<std::uint32_t>(own_);
  const std::uint64_t first = round_ * rounds_.per_round();
  const std::uint64_t last = std::min(rounds_.owners().count(own), first + rounds_.per_round());
  for (std::uint64_t position = first; position < last; ++position) {
    const plan::TileOwners::Tile tile = rounds_.owners().tile_at(own, position);
    const EncodedVariable& v = rounds_.variables()[tile.variable];
    const Element& element = elements_[tile.variable];
    const std::uint64_t elements =
        v.tiling.is_regular()
            ? v.tiling.tile().volume()
            : v.tiling.whole(layout::grid_of(v.shape, v.tiling), tile.tile).volume();
    const std::uint64_t dense_bytes = elements * element.type.bytes;
    if (fill_holes(position - first, dense_bytes, element)) {
      dense.push_back({v.variable, &v.pipeline, room_of(position - first), dense_bytes});
      sizes.tiles.push_back({v.variable, 0, tile.tile, 0});
    }
  }
  encoded_ = config_.room.encoder.encode(dense, config_.threads);
  for (std::size_t i = 0; i < encoded_.size(); ++i) {
    sizes.tiles[i].mask = encoded_[i].mask;
    sizes.tiles[i].bytes = encoded_[i].bytes.size();
  }
}

RoundSizes RoundEncoder::encode(const std::exception_ptr& earlier) {
  note(earlier);
  RoundSizes sizes;
  try {
    if (!failure_ && has_room_) {
      encode_tiles(sizes);
    }
  } catch (...) {
    note(std::current_exception());
    sizes.tiles.clear();
  }
  sizes.outcome = Outcome(commit_, failure_, config_.rank);
  return sizes;
}

/// Tiles that are adjacent in the file are moved together and written as one: the page before the
/// first leaves space to start at the alignment of the file.
void RoundEncoder::write_tiles(const std::vector<std::uint64_t>& addresses, const Write& write) {
  for (std::size_t first = 0; first < encoded_.size();) {
    std::byte* const begin =
        encoded_[first].bytes.data() - write_page_bytes + addresses.at(first) % write_page_bytes;
    std::byte* end = begin;
    std::size_t next = first;
    do {
      const std::span<const std::byte> bytes = encoded_[next].bytes;
      std::memmove(end, bytes.data(), bytes.size());
      end += bytes.size();
      ++next;
    } while (next < encoded_.size() &&
             addresses.at(next) == addresses[first] + static_cast<std::uint64_t>(end - begin));
    write(addresses[first], {begin, end});
    first = next;
  }
}

void RoundEncoder::write(const RoundPlaces& places, const Write& write) {
  note(places.outcome.failure());
  try {
    if (!failure_) {
      write_tiles(places.addresses, write);
    }
  } catch (...) {
    note(std::current_exception());
  }
  ++round_;
  encoded_.clear();
  if (std::exchange(has_room_, false)) {
    config_.room.came.clear();
  }
}

void RoundEncoder::rethrow() const {
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

}  // namespace sluice::exec
