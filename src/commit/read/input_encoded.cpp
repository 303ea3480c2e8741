// Getting selections of compressed variables.
#include <algorithm>

#include "codec/checksum.hpp"
#include "commit/read/input.hpp"
#include "exec/encode_pool.hpp"
#include "exec/read/encoded_read.hpp"
#include "exec/transport/agree.hpp"
#include "model/convert.hpp"
#include "model/numbering.hpp"

namespace sluice::commit {

using model::Box;

const Input::LocatedEncoded& Input::locate_encoded(std::uint32_t variable, std::uint64_t step,
                                                   const Box& region) {
  const bool is_known = located_encoded_ && located_encoded_->variable == variable &&
                        located_encoded_->step == step &&
                        model::contains(located_encoded_->region, region);
  if (is_known) {
    return *located_encoded_;
  }
  const auto message = exec::on_root(transport_, 0, [&] {
    std::vector<Record> records;
    if (ours_ && options_.checksum) {
      records = records_of(variable, step);
    }
    model::ByteWriter out;
    catalog_->locate_encoded(catalog_index_[variable], step, region).write_to(out);
    write_records(records, out);
    return out.take();
  });
  model::ByteReader in(message);
  LocatedEncoded located{variable, step, region, layout::EncodedTiles::read_from(in), {}};
  located.records = read_records(in);
  located_encoded_ = std::move(located);
  return *located_encoded_;
}

bool Input::read_encoded_record(const Located& located, const layout::EncodedTiles& tiles,
                                const Record& record, layout::LastTile& last,
                                std::vector<std::byte>& out) {
  const InputVariable& variable = variables_[located.variable];
  layout::StoredVariable stored;
  stored.definition = variable.definition;
  stored.big_endian = variable.big_endian;
  stored.filters = variable.filters;
  stored.tile = tiles.placement.tile();
  map_objects(tiles.placement);
  out.resize(record.box.volume() * variable.definition.type.bytes);
  layout::read_encoded(file(), stored, tiles, {located.variable, located.step}, record.box, out,
                       last);
  return codec::checksum(std::span<const std::byte>(out)) == record.checksum;
}

std::string Input::name_of(std::uint32_t variable, std::uint64_t step) const {
  const model::Definition& d = variables_[variable].definition;
  return path_ + ": " + d.name + (d.stepped ? ", step " + model::number_text(step) : "");
}

Input::TileCheck Input::checks_of(const LocatedEncoded& located) const {
  const layout::Placement& placement = located.tiles.placement;
  // Records lie in one tile each, as their portions did; others (of a file that was repacked by
  // another program) are looked at by `sluice verify`.
  std::multimap<std::uint64_t, const Record*> by_tile;
  for (const Record& record : located.records) {
    const auto pieces = layout::cut(placement, record.box);
    if (pieces.size() == 1) {
      by_tile.emplace(pieces[0].tile_index, &record);
    }
  }
  return [this, &located, by_tile = std::move(by_tile)](std::uint64_t tile,
                                                        std::span<const std::byte> dense) {
    const layout::Placement& tiles = located.tiles.placement;
    const Type& type = variables_[located.variable].definition.type;
    const Box whole{tiles.tile_box(tile).start, tiles.tile()};
    std::vector<std::byte> held;
    const auto [first, last] = by_tile.equal_range(tile);
    for (auto it = first; it != last; ++it) {
      const Box& part = it->second->box;
      held.resize(part.volume() * type.bytes);
      model::copy_box(dense.data(), whole, held.data(), part, part, type.bytes);
      if (codec::checksum(std::span<const std::byte>(held)) != it->second->checksum) {
        refuse_damaged({located.variable, located.step, located.region, tiles, {}}, *it->second);
      }
    }
  };
}

void Input::get_encoded(std::uint32_t variable, std::uint64_t step, const Box& region,
                        const Box& box, const model::Memory& memory, bool allow_overflow) {
  const InputVariable& stored = variables_[variable];
  const model::Definition& d = stored.definition;
  const LocatedEncoded& located = locate_encoded(variable, step, region);
  const layout::Placement& placement = located.tiles.placement;
  exec::EncodedReading reading;
  reading.tiles = &located.tiles;
  reading.region = region;
  reading.pipeline = stored.filters;
  reading.name = name_of(variable, step);
  reading.readers =
      options_.readers > 0 ? readers() : plan::RankList::spaced(0, 1, transport_.size());
  reading.budget_bytes = options_.budget_bytes;
  reading.threads = storage_.in_background() ? exec::idle_cores(transport_) : 1;
  reading.file = [&]() -> storage::File& {
    map_objects(placement);
    return file();
  };
  reading.inspect = checks_of(located);
  std::vector<std::byte> swapped;
  exec::read_encoded(transport_, reading, box,
                     [&](const Box& part, std::span<const std::byte> bytes) {
                       if (stored.big_endian) {
                         swapped.assign(bytes.begin(), bytes.end());
                         model::swap_bytes(swapped, d.type);
                         bytes = swapped;
                       }
                       model::unpack(bytes, d.type, box, part, memory, allow_overflow);
                     });
  fill_absent({variable, step, region, placement, {}}, box, memory, allow_overflow);
}

}  // namespace sluice::commit
