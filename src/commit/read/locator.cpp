#include "commit/read/locator.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "exec/transport/agree.hpp"

namespace sluice::commit {

using model::Box;
using model::Dims;

namespace {

/// More are not sent to every rank, of all variables that are located together: about a megabyte.
constexpr std::size_t most_records_for_all = 8 << 10;
/// How often they may be sent on average where each rank gets its own: boxes with halos overlap.
constexpr std::size_t most_copies = 4;

/// Is every record in one tile that exists?
bool are_in_tiles(std::span<const Record> records, const layout::Placement& placement) {
  return std::all_of(records.begin(), records.end(), [&](const Record& record) {
    const auto pieces = layout::cut(placement, record.box);
    return pieces.size() == 1 && placement.address(pieces[0].tile_index) != layout::absent;
  });
}

/// The region, and all of the records.
Box widened(Box region, std::span<const Record> records) {
  for (const Record& record : records) {
    for (int d = 0; d < region.start.rank(); ++d) {
      const std::uint64_t end = std::max(region.end(d), record.box.end(d));
      region.start[d] = std::min(region.start[d], record.box.start[d]);
      region.count[d] = end - region.start[d];
    }
  }
  return region;
}

}  // namespace

bool Located::answers(const Wanted& wanted) const {
  return !is_many && variable == wanted.variable && step == wanted.step &&
         model::contains(region, wanted.region);
}

std::span<const Located> Locator::locate(std::span<const Wanted> wanted, std::span<const Box> own) {
  const bool is_known = located_.size() >= wanted.size() &&
                        std::equal(wanted.begin(), wanted.end(), located_.begin(),
                                   [](const Wanted& w, const Located& l) { return l.answers(w); });
  if (is_known) {
    return std::span(located_).first(wanted.size());
  }
  const bool may_deal = !own.empty() && transport_.size() > 1;
  auto in = exec::on_root(transport_, [&](model::ByteWriter& out) {
    std::size_t most = may_deal ? most_records_for_all : std::numeric_limits<std::size_t>::max();
    for (const Wanted& one : wanted) {
      most -= describe(one, most, out);
    }
  });
  std::vector<Located> located;
  for (const Wanted& one : wanted) {
    located.push_back({one, {layout::Placement::read_from(in)}});
    located.back().is_many = in.get<bool>();
    if (located.back().is_many) {
      located.back().is_in_tiles = in.get<bool>();
    } else {
      located.back().records = RecordSet(read_records(in));
    }
  }
  deal(own, located);
  located_ = std::move(located);
  return located_;
}

void Locator::deal(std::span<const Box> own, std::vector<Located>& located) {
  model::ByteWriter mine;
  bool has_many = false;
  for (std::size_t i = 0; i < located.size(); ++i) {
    if (located[i].is_many) {
      mine.put(own[i]);
      has_many = true;
    }
  }
  if (!has_many) {
    return;
  }
  const auto messages = transport_.gather(mine.take(), 0);
  std::vector<model::ByteReader> wishes(messages.begin(), messages.end());
  for (Located& one : located) {
    if (one.is_many) {
      std::vector<Box> boxes;
      for (model::ByteReader& wish : wishes) {
        boxes.push_back(wish.get<Box>());
      }
      deal_one(boxes, one);
    }
  }
}

void Locator::deal_one(std::span<const Box> boxes, Located& located) {
  std::vector<exec::Parcel> parcels;
  auto in = exec::on_root(transport_, [&](model::ByteWriter& out) {
    const bool is_cut = cut_up(located, boxes, parcels);
    out.put(is_cut);
    if (!is_cut) {
      write_records(records_in(located, located.region), out);
    }
  });
  if (!in.get<bool>()) {
    located.records = RecordSet(read_records(in));
    return;
  }
  for (const exec::Parcel& parcel : transport_.exchange(std::move(parcels))) {
    model::ByteReader own(parcel.bytes);
    located.records = RecordSet(read_records(own));
  }
}

bool Locator::cut_up(const Wanted& wanted, std::span<const Box> boxes,
                     std::vector<exec::Parcel>& parcels) {
  const RecordSet& all = root_->records_of(view_, wanted.variable, wanted.step);
  std::size_t left = most_copies * all.list().size();
  for (std::size_t rank = 0; rank < boxes.size(); ++rank) {
    const auto found =
        boxes[rank].empty() ? std::vector<const Record*>{} : all.overlapping(boxes[rank]);
    if (found.size() > left) {
      parcels.clear();
      return false;
    }
    left -= found.size();
    if (!found.empty()) {
      std::vector<Record> own;
      std::transform(found.begin(), found.end(), std::back_inserter(own),
                     [](const Record* record) { return *record; });
      model::ByteWriter out;
      write_records(own, out);
      parcels.push_back({static_cast<int>(rank), out.take()});
    }
  }
  return true;
}

void Locator::complete(std::size_t i) {
  Located& one = located_[i];
  if (one.is_many) {
    auto in = exec::on_root(transport_, [&](model::ByteWriter& out) {
      write_records(records_in(one, one.region), out);
    });
    one.records = RecordSet(read_records(in));
  }
}

void Locator::forget_many() noexcept {
  if (std::any_of(located_.begin(), located_.end(), [](const Located& l) { return l.is_many; })) {
    located_.clear();
  }
}

void Locator::forget() noexcept {
  located_.clear();
  encoded_.reset();
}

const Located& Locator::locate_encoded(const Wanted& wanted) {
  if (!encoded_ || !encoded_->answers(wanted)) {
    auto in =
        exec::on_root(transport_, [&](model::ByteWriter& out) { describe_encoded(wanted, out); });
    Located located{wanted, layout::EncodedTiles::read_from(in)};
    located.records = RecordSet(read_records(in));
    encoded_ = std::move(located);
  }
  encoded_->compared = std::make_shared<Compared>();
  return *encoded_;
}

std::size_t Locator::describe(const Wanted& wanted, std::size_t most_records,
                              model::ByteWriter& out) {
  const auto records = records_in(wanted, wanted.region);
  // A checked read needs whole records, so their tiles are needed too.
  const Box wider = widened(wanted.region, records);
  const std::uint32_t index = root_->number_of(view_[wanted.variable]);
  const layout::Placement placement = root_->catalog().locate(index, wanted.step, wider);
  placement.write_to(out);
  const bool is_many = records.size() > most_records;
  out.put(is_many);
  if (is_many) {
    out.put(are_in_tiles(records, placement));
    return 0;
  }
  write_records(records, out);
  return records.size();
}

void Locator::describe_encoded(const Wanted& wanted, model::ByteWriter& out) {
  const std::uint32_t index = root_->number_of(view_[wanted.variable]);
  layout::EncodedTiles tiles = root_->catalog().locate_encoded(index, wanted.step, wanted.region);
  // Tiles are decoded, and checked, as wholes.
  const Dims& shape = tiles.placement.shape();
  const layout::Tiling& tiling = tiles.placement.tiling();
  Box wider = wanted.region;
  for (int d = 0; d < wider.start.rank() && !wider.empty(); ++d) {
    const std::uint64_t last = tiling.number_of(d, wanted.region.end(d) - 1);
    wider.start[d] = tiling.start_of(d, tiling.number_of(d, wanted.region.start[d]));
    wider.count[d] = std::min(shape[d], tiling.start_of(d, last + 1)) - wider.start[d];
  }
  const auto records = records_in(wanted, wider);
  // Another program's copy may have records in several tiles.
  if (const Box whole = widened(wider, records); whole != wider) {
    tiles = root_->catalog().locate_encoded(index, wanted.step, whole);
  }
  tiles.write_to(out);
  write_records(records, out);
}

std::vector<Record> Locator::records_in(const Wanted& wanted, const Box& region) {
  const RecordSet& all = root_->records_of(view_, wanted.variable, wanted.step);
  std::vector<Record> records;
  for (const Record* record : all.overlapping(region)) {
    records.push_back(*record);
  }
  return records;
}

}  // namespace sluice::commit
