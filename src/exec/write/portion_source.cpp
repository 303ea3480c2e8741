#include "exec/write/portion_source.hpp"

#include <algorithm>
#include <utility>

namespace sluice::exec {

using layout::Placement;

PortionSource::PortionSource(const Work& work, std::uint64_t packed_bytes, Buffers& buffers)
    : work_(work), packer_(work), buffers_(buffers) {
  const auto& placements = work.commit->placements;
  std::vector<std::uint32_t> order(work.portions.size());
  items_.reserve(order.size());
  for (std::uint32_t i = 0; i < work.portions.size(); ++i) {
    order[i] = i;
    const Placement& placement = packer_.placement_of(work.portions[i]);
    items_.push_back({static_cast<std::uint32_t>(&placement - placements.data()),
                      work.portions[i].piece, layout::RunList(placement, work.portions[i].piece)});
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return items_[a].runs.begin() < items_[b].runs.begin();
  });
  std::vector<RoundItem> sorted;
  sorted.reserve(order.size());
  states_.reserve(order.size());
  for (const std::uint32_t i : order) {
    sorted.push_back(items_[i]);
    states_.emplace_back();
    states_.back().portion = i;
  }
  items_ = std::move(sorted);
  size_slots(packed_bytes);
}

RoundSource::Bytes PortionSource::bytes(std::size_t item, std::uint64_t from, std::uint64_t to) {
  const layout::Portion& portion = work_.portions[states_[item].portion];
  const auto in_place = packer_.in_place(portion);
  const std::span<const std::byte> all = in_place ? *in_place : packed(item);
  if (work_.wants_records()) {
    hash(states_[item], from, to, all);
  }
  return {all.subspan(from, to - from), in_place.has_value()};
}

void PortionSource::hash(State& state, std::uint64_t from, std::uint64_t to,
                         std::span<const std::byte> all) {
  if (state.hashed == all.size()) {
    return;
  }
  if (from != state.hashed) {
    to = all.size();  // the windows come in another order: pack the remaining bytes at once
  }
  if (!state.checksum) {
    if (idle_.empty()) {
      idle_.push_back(std::make_unique<codec::Checksum>());
    }
    state.checksum = std::move(idle_.back());
    idle_.pop_back();
    state.checksum->restart();
  }
  state.checksum->update(all.subspan(state.hashed, to - state.hashed));
  state.hashed = to;
  if (to == all.size()) {
    state.value = state.checksum->value();
    idle_.push_back(std::move(state.checksum));
  }
}

void PortionSource::size_slots(std::uint64_t packed_bytes) {
  std::uint64_t largest = 1;
  for (const RoundItem& item : items_) {
    largest = std::max(largest, item.runs.bytes());
  }
  std::vector<std::vector<std::byte>>& kept = buffers_.packed;  // all of one size
  if (!kept.empty() && kept.front().size() < largest) {
    kept.clear();
  }
  slot_bytes_ = kept.empty() ? largest : kept.front().size();
  most_slots_ = std::max<std::uint64_t>(1, packed_bytes / slot_bytes_);
  kept.resize(std::min<std::size_t>(kept.size(), most_slots_));
}

std::span<const std::byte> PortionSource::packed(std::size_t item) {
  State& state = states_[item];
  const bool was_packed = state.is_packed;
  if (!was_packed) {
    take_slot(item);
  }
  slots_.splice(slots_.end(), slots_, state.slot);
  const std::size_t size = items_[item].runs.bytes();
  const std::span<std::byte> out = std::span(buffers_.packed[state.slot->number]).first(size);
  if (!was_packed) {
    packer_.pack(work_.portions[state.portion], out);
  }
  return out;
}

void PortionSource::take_slot(std::size_t item) {
  if (slots_.size() < most_slots_) {
    if (buffers_.packed.size() == slots_.size()) {
      buffers_.packed.emplace_back(slot_bytes_);
    }
    slots_.push_front({item, slots_.size()});
  } else {
    states_[slots_.front().item].is_packed = false;
    slots_.front().item = item;
  }
  states_[item].slot = slots_.begin();
  states_[item].is_packed = true;
}

RecordWords PortionSource::records() {
  // In the order of the portions, whatever their order in the file.
  std::vector<std::uint64_t> values(states_.size());
  for (const State& state : states_) {
    values[state.portion] = state.value;
  }
  RecordWords records(work_);
  if (records.wanted()) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      records.add(work_.portions[i], values[i]);
    }
  }
  return records;
}

void PortionSource::give_records() {
  if (work_.records_out != nullptr) {
    const RecordWords mine = records();
    work_.records_out->insert(work_.records_out->end(), mine.words().begin(), mine.words().end());
  }
}

WordSource::WordSource(const Work& work, const RecordWords& records) : records_(records) {
  if (records.bytes().empty()) {
    return;
  }
  const Placement& placement = *work.commit->checksums;
  const model::Box box = records.box();
  for (const layout::Piece& piece : layout::cut(placement, box)) {
    items_.push_back({static_cast<std::uint32_t>(work.commit->placements.size()), piece,
                      layout::RunList(placement, piece)});
  }
  std::sort(items_.begin(), items_.end(),
            [](const RoundItem& a, const RoundItem& b) { return a.runs.begin() < b.runs.begin(); });
  for (const RoundItem& item : items_) {
    first_.push_back((item.piece.box.start[0] - box.start[0]) * placement.element_bytes());
  }
}

RoundSource::Bytes WordSource::bytes(std::size_t item, std::uint64_t from, std::uint64_t to) {
  return {records_.bytes().subspan(first_[item] + from, to - from), true};
}

}  // namespace sluice::exec
