#include "exec/encode/encode_behind.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "exec/encode/stand_in_file.hpp"
#include "model/bytes.hpp"
#include "model/fill.hpp"

namespace sluice::exec {

namespace {

/// A waiter looks again so often, whatever it hears.
constexpr double look_for_answer_s = 1;
/// Direct writes want memory that lies in a page as the bytes lie in the file.
constexpr std::uint64_t write_page_bytes = 4096;

}  // namespace

std::vector<std::byte> Offer::to_bytes() const {
  model::ByteWriter out;
  out.put(outcome);
  out.put(tiles);
  return out.take();
}

Offer Offer::from_bytes(std::span<const std::byte> bytes) {
  model::ByteReader in(bytes);
  Offer offer;
  offer.outcome = in.get<Outcome>();
  offer.tiles = in.get_vector<layout::EncodedTile>();
  return offer;
}

std::vector<std::byte> Answer::to_bytes() const {
  model::ByteWriter out;
  out.put(outcome);
  out.put(plan);
  out.put(addresses);
  return out.take();
}

Answer Answer::from_bytes(std::span<const std::byte> bytes) {
  model::ByteReader in(bytes);
  Answer answer;
  answer.outcome = in.get<Outcome>();
  answer.plan = in.get_vector<std::byte>();
  answer.addresses = in.get_vector<std::uint64_t>();
  return answer;
}

class EncodeBehind::DenseFile final : public StandInFile {
 public:
  DenseFile(std::string path, EncodeBehind& owner) : StandInFile(std::move(path)), owner_(owner) {}
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    owner_.take(offset, bytes);
  }

 private:
  EncodeBehind& owner_;
};

/// Ranges of stand-in addresses, and where each goes; before that is known bytes are kept.
class EncodeBehind::PlainFile final : public StandInFile {
 public:
  PlainFile(storage::File& file, std::shared_ptr<const layout::CommitPlan> stand_ins)
      : StandInFile(file.path()), file_(file), stand_ins_(std::move(stand_ins)) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (!is_placed_) {
      kept_.push_back({offset, {bytes.begin(), bytes.end()}});
      return;
    }
    auto at = std::upper_bound(
        ranges_.begin(), ranges_.end(), offset,
        [](std::uint64_t place, const Range& range) { return place < range.first; });
    while (!bytes.empty()) {
      if (at == ranges_.begin() || offset >= std::prev(at)->last) {
        throw Error(Code::internal, path() + ": bytes of a commit that have no place");
      }
      const Range& here = *std::prev(at);
      const std::size_t count = std::min<std::uint64_t>(bytes.size(), here.last - offset);
      file_.write(here.address + (offset - here.first), bytes.first(count));
      bytes = bytes.subspan(count);
      offset += count;
      ++at;
    }
  }

  void place(const layout::CommitPlan& real) {
    std::map<std::uint32_t, const layout::Placement*> by_variable;
    for (const layout::Placement& placement : real.placements) {
      by_variable[placement.variable()] = &placement;
    }
    for (const layout::Placement& here : stand_ins_->placements) {
      const auto found = by_variable.find(here.variable());
      const layout::Placement* there = found == by_variable.end() ? nullptr : found->second;
      if (there == nullptr || there->tiles() != here.tiles() ||
          there->tile_bytes() != here.tile_bytes()) {
        throw Error(Code::internal, path() + ": a variable is placed otherwise than was foreseen");
      }
      for (std::uint64_t tile = 0; tile < here.tiles(); ++tile) {
        add(here.address(tile), here.tile_bytes(), there->address(tile));
      }
    }
    if (stand_ins_->checksums) {
      place_checksums(*stand_ins_->checksums, real);
    }
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.first < b.first; });
    is_placed_ = true;
  }

  void write_kept() {
    for (const Kept& kept : std::exchange(kept_, {})) {
      write(kept.offset, kept.bytes);
    }
  }

 private:
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t address = 0;
  };
  struct Kept {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };

  void add(std::uint64_t stand_in, std::uint64_t bytes, std::uint64_t address) {
    if (stand_in != layout::absent && address != layout::absent && bytes != 0) {
      ranges_.push_back({stand_in, stand_in + bytes, address});
    }
  }

  /// The words are one run here, in the file they may be several.
  void place_checksums(const layout::Placement& here, const layout::CommitPlan& real) {
    std::uint64_t done = 0;
    for (std::uint64_t tile = 0; real.checksums && tile < real.checksums->tiles(); ++tile) {
      const std::uint64_t bytes = std::min(real.checksums->tile_bytes(), here.tile_bytes() - done);
      add(here.address(0) + done, bytes, real.checksums->address(tile));
      done += bytes;
    }
  }

  storage::File& file_;
  const std::shared_ptr<const layout::CommitPlan> stand_ins_;
  bool is_placed_ = false;
  std::vector<Range> ranges_;
  std::vector<Kept> kept_;
};

EncodeBehind::EncodeBehind(const Ground& ground, std::uint64_t number, const EncodedRounds& rounds,
                           std::span<const model::Definition> definitions,
                           std::shared_ptr<const layout::CommitPlan> plain)
    : ground_(ground),
      number_(number),
      rounds_(rounds),
      own_(rounds.owners().index_of(ground.rank)),
      dense_(std::make_unique<DenseFile>(ground.file.path(), *this)),
      plain_(std::make_unique<PlainFile>(ground.file, std::move(plain))) {
  for (const EncodedVariable& v : rounds_.variables()) {
    const model::Definition& d = definitions[v.variable];
    fills_.push_back({d.type, d.partial ? d.fill : std::vector<std::byte>{}});
  }
  slots_.resize(rounds_.per_round());
}

EncodeBehind::~EncodeBehind() = default;

storage::File& EncodeBehind::dense_file() noexcept { return *dense_; }
storage::File& EncodeBehind::plain_file() noexcept { return *plain_; }

void EncodeBehind::take(std::uint64_t offset, std::span<const std::byte> bytes) {
  std::unique_ptr<Staging>& staging = ground_.room.staging;
  const std::uint64_t wanted = write_page_bytes + rounds_.held_bytes();
  if (!staging || staging->size() < wanted) {
    staging.reset();
    staging = std::make_unique<Staging>(wanted);
  }
  const std::uint64_t stride = rounds_.stride_bytes();
  const std::uint64_t owners = rounds_.owners().owners().size();
  while (!bytes.empty()) {
    const std::uint64_t position = offset / stride / owners;
    const std::uint64_t inside = offset % stride;
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), stride - inside);
    begin_tile(position);
    std::memcpy(room_of(position).data() + inside, bytes.data(), count);
    bytes = bytes.subspan(count);
    offset += count;
  }
}

void EncodeBehind::begin_tile(std::uint64_t position) {
  Slot& slot = slots_.at(position);
  if (slot.came) {
    return;
  }
  const auto tile = rounds_.owners().tile_at(static_cast<std::uint32_t>(own_),
                                             round_ * rounds_.per_round() + position);
  slot = {tile.variable, tile.tile, true};
  const EncodedVariable& v = rounds_.variables().at(tile.variable);
  const Fill& fill = fills_[tile.variable];
  model::fill(room_of(position).first(v.tile.volume() * fill.type.bytes), fill.type, fill.value);
}

std::span<std::byte> EncodeBehind::room_of(std::uint64_t position) const {
  const std::uint64_t stride = rounds_.stride_bytes();
  return {ground_.room.staging->data() + write_page_bytes + position * stride, stride};
}

void EncodeBehind::note(const std::exception_ptr& failure) {
  failure_ = failure_ ? failure_ : failure;
}

void EncodeBehind::encode(Offer& offer) {
  std::vector<RawTile> raw;
  for (std::uint64_t position = 0; position < slots_.size(); ++position) {
    const Slot& slot = slots_[position];
    if (slot.came) {
      const EncodedVariable& v = rounds_.variables()[slot.variable];
      raw.push_back({v.variable, &v.pipeline, room_of(position),
                     v.tile.volume() * fills_[slot.variable].type.bytes});
      offer.tiles.push_back({v.variable, 0, slot.tile, 0});
    }
  }
  cooked_ = ground_.room.encoder.encode(raw, ground_.threads);
  for (std::size_t i = 0; i < cooked_.size(); ++i) {
    offer.tiles[i].mask = cooked_[i].mask;
    offer.tiles[i].bytes = cooked_[i].bytes.size();
  }
}

void EncodeBehind::offer(const std::exception_ptr& earlier) {
  note(earlier);
  Offer offer;
  try {
    if (!failure_) {
      encode(offer);
    }
  } catch (...) {
    note(std::current_exception());
    offer.tiles.clear();
  }
  offer.outcome = Outcome(number_, failure_, ground_.rank);
  ground_.tracker.send_to_root(offer.to_bytes());
}

Answer EncodeBehind::await_answer() {
  while (true) {
    const std::uint32_t epoch = ground_.tracker.epoch();
    if (const auto message = ground_.tracker.receive_from_root()) {
      return Answer::from_bytes(*message);
    }
    if (ground_.tracker.is_stopped() || !ground_.may_wait) {
      throw Error(Code::timeout, ground_.file.path() + ": no places came for encoded tiles",
                  ground_.rank);
    }
    ground_.tracker.wait(epoch, look_for_answer_s);
  }
}

/// Tiles that are neighbours in the file are pushed together and written as one: the page in front
/// of the first leaves room to begin where the file wants it.
void EncodeBehind::write_round(const std::vector<std::uint64_t>& addresses) {
  for (std::size_t first = 0; first < cooked_.size();) {
    std::byte* const begin =
        cooked_[first].bytes.data() - write_page_bytes + addresses.at(first) % write_page_bytes;
    std::byte* end = begin;
    std::size_t next = first;
    do {
      const std::span<const std::byte> bytes = cooked_[next].bytes;
      std::memmove(end, bytes.data(), bytes.size());
      end += bytes.size();
      ++next;
    } while (next < cooked_.size() &&
             addresses.at(next) == addresses[first] + static_cast<std::uint64_t>(end - begin));
    ground_.file.write(addresses[first], {begin, end});
    first = next;
  }
}

void EncodeBehind::finish(const std::exception_ptr& earlier) {
  note(earlier);
  try {
    const Answer answer = await_answer();
    note(answer.outcome.failure());
    if (!failure_ && round_ == 0) {
      const auto plan = layout::CommitPlan::from_bytes(answer.plan);
      ground_.file.map(plan.objects);
      plain_->place(plan);
    }
    if (!failure_) {
      write_round(answer.addresses);
    }
  } catch (...) {
    note(std::current_exception());
  }
  ++round_;
  cooked_.clear();
  std::fill(slots_.begin(), slots_.end(), Slot{});
}

void EncodeBehind::rethrow() const {
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

void EncodeBehind::write_kept() { plain_->write_kept(); }

}  // namespace sluice::exec
