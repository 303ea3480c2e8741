// Getting rows by global index, of variables with addresses, of parts and of compressed ones.
#include <memory>

#include "commit/read/input.hpp"
#include "exec/device_memory.hpp"
#include "exec/rows/rows.hpp"
#include "exec/transport/agree.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"
#include "model/numbering.hpp"

namespace sluice::commit {

using model::Box;
using model::Dims;

namespace {

Box rows_of(Box all, std::uint64_t first, std::uint64_t count) {
  all.start[0] = first;
  all.count[0] = count;
  return all;
}

model::Memory dense_memory(const Type& type, const Box& box, std::span<std::byte> out) {
  return {out.data(), type, box.count, Dims::filled(box.start.rank(), 0)};
}

}  // namespace

void Input::get_rows(std::uint32_t variable, std::uint64_t step, std::span<const std::uint64_t> ids,
                     std::byte* data, const Type& type, const std::exception_ptr& found) {
  const auto failure =
      found ? found : exec::failure_of([&] { check_rows(variable, step, ids, data, type); });
  exec::for_file(path_, [&] { get_checked_rows(variable, step, ids, data, type, failure); });
}

void Input::check_rows(std::uint32_t variable, std::uint64_t step,
                       std::span<const std::uint64_t> ids, const std::byte* data,
                       const Type& type) const {
  if (variable >= variables_.size()) {
    throw Error(Code::invalid_argument,
                path_ + ": get_rows: there is no variable " + model::variable_text(variable));
  }
  const model::Definition& d = variables_[variable].definition;
  const bool is_readable = variables_[variable].placeable || !variables_[variable].filters.empty();
  if (d.shape.empty() || !is_readable) {
    throw Error(Code::unsupported, path_ + ": get_rows " + d.name +
                                       ": needs a variable with rows, and none that only the "
                                       "library of its format can read: use get");
  }
  if (d.stepped && step >= steps_) {
    throw Error(Code::out_of_bounds,
                path_ + ": get_rows " + d.name + ": " + model::absent_step_text(step, steps_));
  }
  if (!model::convertible(d.type, type)) {
    throw Error(Code::type_mismatch, path_ + ": get_rows " + d.name + ": " + type_name(d.type) +
                                         " cannot be read as " + type_name(type));
  }
  if (!ids.empty() && (ids.data() == nullptr || data == nullptr)) {
    throw Error(Code::invalid_argument, path_ + ": get_rows " + d.name + ": null pointer");
  }
  for (const void* pointer :
       {static_cast<const void*>(ids.data()), static_cast<const void*>(data)}) {
    exec::refuse_device_memory(ids.empty() ? nullptr : pointer,
                               [&] { return path_ + ": get_rows " + d.name; });
  }
}

void Input::get_checked_rows(std::uint32_t variable, std::uint64_t step,
                             std::span<const std::uint64_t> ids, std::byte* data, const Type& type,
                             std::exception_ptr failure) {
  const bool known = variable < variables_.size();
  const model::Definition none;
  const model::Definition& d = known ? variables_[variable].definition : none;
  const Dims shape = known ? shape_or_most(variable, step) : d.shape;
  const Box all = model::whole(shape);
  common_regions({{{variable, step, all, {}, false}}}, failure);
  exec::RowSource source{d.name, shape[0], shape.without_front().volume() * d.type.bytes, 1, {}};
  if (number_in_set(variable)) {
    source.read = [&](std::uint64_t first, std::uint64_t count, std::span<std::byte> out) {
      const Box rows = rows_of(all, first, count);
      get_from_parts(variable, step, rows, dense_memory(d.type, rows, out), false);
    };
  } else if (has_addresses(variable)) {
    const Located& located = locate(variable, step, all);
    source.read = [&](std::uint64_t first, std::uint64_t count, std::span<std::byte> out) {
      const Box rows = rows_of(all, first, count);
      get_placed(located, rows, dense_memory(d.type, rows, out), false);
    };
  } else {
    read_encoded_rows(locate_encoded(variable, step, all), source);
  }
  const std::vector<std::byte> bytes = exec::fetch_rows(transport_, source, ids);
  Box mine = all;
  mine.start = Dims::filled(all.start.rank(), 0);
  mine.count[0] = ids.size();
  const model::Memory memory{data, type, mine.count, mine.start};
  try {
    if (!mine.empty()) {
      model::unpack(bytes, d.type, mine, mine, memory, false);
    }
  } catch (...) {
    failure = naming_call("get_rows " + d.name);
  }
  exec::agree(transport_, failure);
}

/// One rank has all rows of a tile, so that one rank decodes it.
void Input::read_encoded_rows(const LocatedEncoded& located, exec::RowSource& source) {
  const InputVariable& stored = variables_[located.variable];
  const layout::Placement& placement = located.tiles.placement;
  const std::uint64_t most_bytes = options_.budget_bytes / 4;
  const std::uint64_t tile_rows = placement.tile()[0];
  if (source.row_bytes != 0 && tile_rows <= most_bytes / source.row_bytes) {
    source.rows_together = tile_rows;
  }
  auto decoder = std::make_shared<layout::TileDecoder>(
      stored.filters, name_of(located.variable, located.step), options_.budget_bytes / 2);
  source.read = [this, &located, &stored, decoder, check = checks_of(located),
                 dense = std::vector<std::byte>()](std::uint64_t first, std::uint64_t count,
                                                   std::span<std::byte> out) mutable {
    const model::Definition& d = stored.definition;
    const layout::Placement& tiles = located.tiles.placement;
    const Box rows = rows_of(model::whole(tiles.shape()), first, count);
    decoder->require_small(located.tiles);
    dense.resize(tiles.tile_bytes());
    map_objects(tiles);
    for (const layout::Piece& piece : layout::cut(tiles, rows)) {
      const Box whole{tiles.tile_box(piece.tile_index).start, tiles.tile()};
      if (tiles.address(piece.tile_index) == layout::absent) {
        model::fill(dense, d.type, d.fill);
      } else {
        decoder->read(file(), located.tiles, piece.tile_index, dense);
        check(piece.tile_index, dense);
        if (stored.big_endian) {
          model::swap_bytes(dense, d.type);
        }
      }
      model::copy_box(dense.data(), whole, out.data(), rows, piece.box, d.type.bytes);
    }
  };
}

}  // namespace sluice::commit
