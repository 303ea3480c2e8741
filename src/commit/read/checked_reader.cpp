#include "commit/read/checked_reader.hpp"

#include <algorithm>
#include <exception>

#include "exec/read/read_box.hpp"
#include "exec/transport/agree.hpp"
#include "layout/catalog.hpp"
#include "layout/portion.hpp"
#include "layout/read_ahead.hpp"
#include "model/convert.hpp"
#include "model/coverage.hpp"
#include "model/fill.hpp"

namespace sluice::commit {

using model::Box;

namespace {

bool matches(std::span<const std::byte> bytes, const Record& record) {
  return codec::checksum(bytes) == record.checksum;
}

}  // namespace

void CheckedReader::get(const Located& located, const Destination& to) {
  const auto records = located.records.overlapping(to.box());
  std::vector<Box> parts;
  for (const Record* record : records) {
    parts.push_back(*model::intersect(record->box, to.box()));
  }
  storage::File& file = source_.file(located.placement());
  if (!model::tiles(to.box(), parts)) {
    get_unchecked(file, located, to);
  }
  layout::ReadingAhead ahead(file, located.placement(), records.size(),
                             [&](std::size_t i) -> const Box& { return records[i]->box; });
  for (std::size_t i = 0; i < records.size(); ++i) {
    ahead.tell(i);
    get_record(file, located, *records[i], to);
  }
}

void CheckedReader::get_unchecked(storage::File& file, const Located& located,
                                  const Destination& to) {
  const std::vector<layout::Piece> pieces = layout::cut(located.placement(), to.box());
  layout::ReadingAhead ahead(file, located.placement(), pieces.size(),
                             [&](std::size_t i) -> const Box& { return pieces[i].box; });
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    ahead.tell(i);
    for_each_part(file, located, pieces[i].box, [&](const Box& part) {
      const auto place = to.run_of(part);
      const std::span<std::byte> bytes = place.empty() ? room_for(located, part) : place;
      read(file, located, part, bytes);
      if (place.empty()) {
        to.put(part, bytes);
      }
    });
  }
}

void CheckedReader::get_record(storage::File& file, const Located& located, const Record& record,
                               const Destination& to) {
  checksum_.restart();
  std::exception_ptr failure;  // of a conversion: if the bytes are damaged, that is the error
  for_each_part(file, located, record.box, [&](const Box& part) {
    const auto common = model::intersect(part, to.box());
    const auto place = common == part ? to.run_of(part) : std::span<std::byte>{};
    const std::span<std::byte> bytes = place.empty() ? room_for(located, part) : place;
    read(file, located, part, bytes);
    checksum_.update(bytes);
    if (place.empty() && common && !failure) {
      failure = exec::failure_of([&] { put_common(located, part, bytes, *common, to); });
    }
  });
  if (checksum_.value() != record.checksum) {
    refuse(located, record);
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void CheckedReader::put_common(const Located& located, const Box& part,
                               std::span<const std::byte> bytes, const Box& common,
                               const Destination& to) {
  if (common == part) {
    to.put(part, bytes);
    return;
  }
  const std::uint32_t element_bytes = view_[located.variable].definition.type.bytes;
  selected_.resize(common.volume() * element_bytes);
  model::copy_box(bytes.data(), part, selected_.data(), common, common, element_bytes);
  to.put(common, selected_);
}

template <class Visit>
void CheckedReader::for_each_part(const storage::File& file, const Located& located, const Box& box,
                                  Visit&& visit) const {
  // A box in several tiles is read as a whole: its parts would meet every tile again and again.
  const bool is_in_one_tile = layout::cut(located.placement(), box).size() <= 1;
  const std::uint64_t most_bytes = is_in_one_tile ? file.read_bytes() : layout::portion_bytes;
  layout::for_each_part(box, view_[located.variable].definition.type.bytes,
                        std::min<std::uint64_t>(most_bytes, layout::portion_bytes), visit);
}

std::span<std::byte> CheckedReader::room_for(const Located& located, const Box& part) {
  const std::uint64_t bytes = part.volume() * view_[located.variable].definition.type.bytes;
  if (bytes_.size() < bytes) {
    bytes_.resize(bytes);
  }
  return std::span(bytes_).first(bytes);
}

void CheckedReader::read(storage::File& file, const Located& located, const Box& box,
                         std::span<std::byte> out) const {
  const InputVariable& variable = view_[located.variable];
  const Type& type = variable.definition.type;
  std::vector<std::byte> element(type.bytes);
  model::fill(element, type, variable.definition.fill);
  if (variable.big_endian) {
    model::swap_bytes(element, type);
  }
  exec::read_box(file, located.placement(), box, element, out);
  if (variable.big_endian) {
    model::swap_bytes(out, type);
  }
}

bool CheckedReader::read_record(const Located& located, const Record& record,
                                std::vector<std::byte>& out) {
  out.resize(record.box.volume() * view_[located.variable].definition.type.bytes);
  read(source_.file(located.placement()), located, record.box, out);
  return matches(out, record);
}

bool CheckedReader::read_encoded_record(const Located& located, const Record& record,
                                        layout::LastTile& last, std::vector<std::byte>& out) const {
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
  const InputVariable& variable = view_[located.variable];
  const std::uint32_t element_bytes = variable.definition.type.bytes;
  std::vector<std::byte> bytes;
  for (const Record* record : located.records.overlapping(held)) {
    // Records are in one tile each, as their portions were; others are of a file that another
    // program repacked.
    const Box& box = record->box;
    if (!model::contains(held, box)) {
      check_across_tiles(located, *record);
      continue;
    }
    bytes.resize(box.volume() * element_bytes);
    model::copy_box(dense.data(), whole, bytes.data(), box, box, element_bytes);
    if (variable.big_endian) {  // the checksum is that of what was put
      model::swap_bytes(bytes, variable.definition.type);
    }
    if (!matches(bytes, *record)) {
      refuse(located, *record);
    }
  }
}

void CheckedReader::check_absent(const Located& located, const Box& box) {
  const layout::Placement& placement = located.placement();
  const model::Definition& definition = view_[located.variable].definition;
  std::uint64_t elements = 0;  // of the checksum
  std::uint64_t checksum = 0;
  for (const layout::Piece& piece : layout::cut(placement, box)) {
    if (placement.address(piece.tile_index) != layout::absent) {
      continue;
    }
    const Box held = placement.tile_box(piece.tile_index);
    for (const Record* record : located.records.overlapping(held)) {
      if (!model::contains(held, record->box)) {
        check_across_tiles(located, *record);
        continue;
      }
      if (const std::uint64_t volume = record->box.volume(); volume != elements) {
        checksum = checksum_of_fill(definition, volume);
        elements = volume;
      }
      if (checksum != record->checksum) {
        refuse(located, *record);
      }
    }
  }
}

std::uint64_t CheckedReader::checksum_of_fill(const model::Definition& definition,
                                              std::uint64_t elements) {
  constexpr std::uint64_t most_at_once = 8192;
  std::vector<std::byte> fill(std::min(elements, most_at_once) * definition.type.bytes);
  model::fill(fill, definition.type, definition.fill);
  checksum_.restart();
  for (std::uint64_t left = elements; left != 0;) {
    const std::uint64_t count = std::min(left, most_at_once);
    checksum_.update(std::span(fill).first(count * definition.type.bytes));
    left -= count;
  }
  return checksum_.value();
}

void CheckedReader::check_across_tiles(const Located& located, const Record& record) const {
  Compared& compared = *located.compared;
  const std::lock_guard lock(compared.mutex);
  if (compared.records.insert(&record).second &&
      !read_encoded_record(located, record, compared.last, compared.bytes)) {
    refuse(located, record);
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
