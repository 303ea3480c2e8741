#include "commit/read/locator.hpp"

#include <algorithm>

#include "exec/transport/agree.hpp"

namespace sluice::commit {

using model::Box;
using model::Dims;

bool Located::answers(const Wanted& wanted) const {
  return variable == wanted.variable && step == wanted.step &&
         model::contains(region, wanted.region);
}

std::span<const Located> Locator::locate(std::span<const Wanted> wanted) {
  const bool is_known = located_.size() >= wanted.size() &&
                        std::equal(wanted.begin(), wanted.end(), located_.begin(),
                                   [](const Wanted& w, const Located& l) { return l.answers(w); });
  if (is_known) {
    return std::span(located_).first(wanted.size());
  }
  auto in = exec::on_root(transport_, [&](model::ByteWriter& out) {
    for (const Wanted& one : wanted) {
      describe(one, out);
    }
  });
  std::vector<Located> located;
  for (const Wanted& one : wanted) {
    located.push_back({one, {layout::Placement::read_from(in)}});
    located.back().records = RecordSet(read_records(in));
  }
  located_ = std::move(located);
  return located_;
}

const Located& Locator::locate_encoded(const Wanted& wanted) {
  if (!encoded_ || !encoded_->answers(wanted)) {
    auto in =
        exec::on_root(transport_, [&](model::ByteWriter& out) { describe_encoded(wanted, out); });
    Located located{wanted, layout::EncodedTiles::read_from(in)};
    located.records = RecordSet(read_records(in));
    encoded_ = std::move(located);
  }
  return *encoded_;
}

void Locator::describe(const Wanted& wanted, model::ByteWriter& out) {
  const auto records = records_in(wanted, wanted.region);
  // A checked read needs whole records, so their tiles are needed too.
  Box wider = wanted.region;
  for (const Record& record : records) {
    for (int d = 0; d < wider.start.rank(); ++d) {
      const std::uint64_t end = std::max(wider.end(d), record.box.end(d));
      wider.start[d] = std::min(wider.start[d], record.box.start[d]);
      wider.count[d] = end - wider.start[d];
    }
  }
  const std::uint32_t index = view_[wanted.variable].catalog_index;
  root_->catalog().locate(index, wanted.step, wider).write_to(out);
  write_records(records, out);
}

void Locator::describe_encoded(const Wanted& wanted, model::ByteWriter& out) {
  const std::uint32_t index = view_[wanted.variable].catalog_index;
  const layout::EncodedTiles tiles =
      root_->catalog().locate_encoded(index, wanted.step, wanted.region);
  tiles.write_to(out);
  // Tiles are decoded, and checked, as wholes.
  const Dims& shape = tiles.placement.shape();
  const layout::Tiling& tiling = tiles.placement.tiling();
  Box wider = wanted.region;
  for (int d = 0; d < wider.start.rank() && !wider.empty(); ++d) {
    const std::uint64_t last = tiling.number_of(d, wanted.region.end(d) - 1);
    wider.start[d] = tiling.start_of(d, tiling.number_of(d, wanted.region.start[d]));
    wider.count[d] = std::min(shape[d], tiling.start_of(d, last + 1)) - wider.start[d];
  }
  write_records(records_in(wanted, wider), out);
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
