#include "commit/read/checked_reader.hpp"

#include "codec/checksum.hpp"
#include "exec/read/read_box.hpp"
#include "layout/catalog.hpp"
#include "layout/portion.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"

namespace sluice::commit {

using model::Box;

namespace {

bool matches(std::span<const std::byte> bytes, const Record& record) {
  return codec::checksum(bytes) == record.checksum;
}

}  // namespace

void CheckedReader::get(const Located& located, const Destination& to) {
  const std::uint32_t element_bytes = view_[located.variable].definition.type.bytes;
  const auto records = located.records.overlapping(to.box());
  std::uint64_t covered = 0;
  for (const Record* record : records) {
    covered += model::intersect(record->box, to.box())->volume();
  }
  if (covered < to.box().volume()) {
    for (const layout::Piece& piece : layout::cut(located.placement(), to.box())) {
      for (const Box& part : layout::split(piece.box, element_bytes, layout::portion_bytes)) {
        if (const auto place = to.run_of(part); !place.empty()) {
          read(located, part, place);
          continue;
        }
        bytes_.resize(part.volume() * element_bytes);
        read(located, part, bytes_);
        to.put(part, bytes_);
      }
    }
  }
  for (const Record* record : records) {
    get_record(located, *record, to);
  }
}

void CheckedReader::get_record(const Located& located, const Record& record,
                               const Destination& to) {
  const Box part = *model::intersect(record.box, to.box());
  const bool is_whole = part == record.box;
  const auto place = is_whole ? to.run_of(part) : std::span<std::byte>{};
  if (!place.empty()) {
    read(located, part, place);
    if (!matches(place, record)) {
      refuse(located, record);
    }
    return;
  }
  if (!read_record(located, record, bytes_)) {
    refuse(located, record);
  }
  if (is_whole) {
    to.put(part, bytes_);
    return;
  }
  const std::uint32_t element_bytes = view_[located.variable].definition.type.bytes;
  selected_.resize(part.volume() * element_bytes);
  model::copy_box(bytes_.data(), record.box, selected_.data(), part, part, element_bytes);
  to.put(part, selected_);
}

void CheckedReader::read(const Located& located, const Box& box, std::span<std::byte> out) {
  const InputVariable& variable = view_[located.variable];
  const Type& type = variable.definition.type;
  std::vector<std::byte> element(type.bytes);
  model::fill(element, type, variable.definition.fill);
  if (variable.big_endian) {
    model::swap_bytes(element, type);
  }
  exec::read_box(source_.file(located.placement()), located.placement(), box, element, out);
  if (variable.big_endian) {
    model::swap_bytes(out, type);
  }
}

bool CheckedReader::read_record(const Located& located, const Record& record,
                                std::vector<std::byte>& out) {
  out.resize(record.box.volume() * view_[located.variable].definition.type.bytes);
  read(located, record.box, out);
  return matches(out, record);
}

bool CheckedReader::read_encoded_record(const Located& located, const Record& record,
                                        layout::LastTile& last, std::vector<std::byte>& out) {
  const InputVariable& variable = view_[located.variable];
  layout::StoredVariable stored;
  stored.definition = variable.definition;
  stored.big_endian = variable.big_endian;
  stored.filters = variable.filters;
  out.resize(record.box.volume() * variable.definition.type.bytes);
  layout::read_encoded(source_.file(located.placement()), stored, located.tiles,
                       {located.variable, located.step}, record.box, out, last);
  return matches(out, record);
}

void CheckedReader::check_tile(const Located& located, std::uint64_t tile,
                               std::span<const std::byte> dense) const {
  const layout::Placement& placement = located.placement();
  const Box held = placement.tile_box(tile);
  const Box whole = placement.whole_tile(tile);
  const std::uint32_t element_bytes = view_[located.variable].definition.type.bytes;
  std::vector<std::byte> bytes;
  for (const Record* record : located.records.overlapping(held)) {
    // Records are in one tile each, as their portions were; others (of a file that another program
    // repacked) are checked by `sluice verify`.
    const Box& box = record->box;
    if (!model::contains(held, box)) {
      continue;
    }
    bytes.resize(box.volume() * element_bytes);
    model::copy_box(dense.data(), whole, bytes.data(), box, box, element_bytes);
    if (!matches(bytes, *record)) {
      refuse(located, *record);
    }
  }
}

void CheckedReader::refuse(const Wanted& which, const Record& record) const {
  const std::string where = view_.name_of(which.variable, which.step) + ", " + record.box.text();
  const bool is_named = record.rank != exec::ChecksumRecord::nobody;
  const std::string writer =
      is_named ? " (written by rank " + std::to_string(record.rank) + ")" : "";
  throw view_.contents().is_modified
      ? Error(Code::changed_outside, where +
                                         ": does not match its checksum, and the file was changed "
                                         "outside Sluice (or copied) since its last commit" +
                                         writer)
      : Error(Code::damaged, where + ": does not match its checksum: damaged" + writer);
}

}  // namespace sluice::commit
