#include "commit/read/row_reader.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "commit/read/agreement.hpp"
#include "commit/read/beside_writer.hpp"
#include "commit/read/parts_input.hpp"
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

}  // namespace

void RowReader::check(const RowsRequest& request) const {
  const FileView::Contents& file = file_.view.contents();
  if (request.variable >= file.variables.size()) {
    throw Error(Code::invalid_argument, file.path + ": get_rows: there is no variable " +
                                            model::variable_text(request.variable));
  }
  const InputVariable& variable = file.variables[request.variable];
  const model::Definition& d = variable.definition;
  const std::string call = file.path + ": get_rows " + d.name;
  if (d.shape.empty() || (!variable.placeable && variable.filters.empty())) {
    throw Error(Code::unsupported, call +
                                       ": needs a variable with rows that not only the "
                                       "library of its format can read: use get");
  }
  if (d.stepped && request.step >= file.steps) {
    throw Error(Code::out_of_bounds,
                call + ": " + model::absent_step_text(request.step, file.steps));
  }
  if (!model::convertible(d.type, request.type)) {
    throw Error(Code::type_mismatch,
                call + ": " + type_name(d.type) + " cannot be read as " + type_name(request.type));
  }
  const void* const ids = request.ids.data();
  if (!request.ids.empty() && (ids == nullptr || request.data == nullptr)) {
    throw Error(Code::invalid_argument, call + ": null pointer");
  }
  for (const void* pointer : {ids, static_cast<const void*>(request.data)}) {
    exec::refuse_device_memory(request.ids.empty() ? nullptr : pointer, [&] { return call; });
  }
}

void RowReader::get_rows(const RowsRequest& request, std::exception_ptr failure) {
  const FileView& view = file_.view;
  const bool is_known = request.variable < view.variables().size();
  const InputVariable none;
  const InputVariable& variable = is_known ? view[request.variable] : none;
  const model::Definition& d = variable.definition;
  const Dims shape = is_known ? view.shape_or_most(request.variable, request.step) : d.shape;
  const Wanted which{request.variable, request.step, model::whole(shape)};
  const GetRequest all{which.variable, which.step, which.region, {}};
  common_regions(file_.transport, view, {&all, 1}, failure);
  beside_writer(file_, locator_, [&] { read_rows(request, which); });
}

void RowReader::read_rows(const RowsRequest& request, const Wanted& which) {
  const InputVariable& variable = file_.view[which.variable];
  const model::Definition& d = variable.definition;
  const Dims& shape = which.region.count;
  exec::RowSource source{d.name, shape[0], shape.without_front().volume() * d.type.bytes};
  if (variable.number_in_set) {
    source.read = [&](std::uint64_t first, std::uint64_t count, std::span<std::byte> out) {
      const Box rows = rows_of(which.region, first, count);
      parts_->get(variable, dense_request(which.variable, which.step, rows, out.data(),
                                          variable.definition.type));
    };
  } else if (variable.has_addresses()) {
    const Located& located = locator_.locate({&which, 1}).front();
    source.read = [&](std::uint64_t first, std::uint64_t count, std::span<std::byte> out) {
      const Box rows = rows_of(which.region, first, count);
      const GetRequest dense =
          dense_request(which.variable, which.step, rows, out.data(), variable.definition.type);
      checked_.get(located, Destination(variable, dense));
    };
  } else {
    read_encoded_rows(locator_.locate_encoded(which), source);
  }
  const std::vector<std::byte> bytes = exec::fetch_rows(file_.transport, source, request.ids);
  Box mine = which.region;
  mine.start = Dims::filled(shape.rank(), 0);
  mine.count[0] = request.ids.size();
  exec::together(file_.transport, [&] {
    if (!mine.empty()) {
      const GetRequest dense{
          which.variable, which.step, mine, {request.data, request.type, mine.count, mine.start}};
      Destination(variable, dense, "get_rows").put(mine, bytes);
    }
  });
}

/// One rank owns all rows of a tile, so that one rank decodes it. Of tiles beside each other, if
/// they are many, each rank that owns rows decodes each once: it holds what is asked of its rows.
void RowReader::read_encoded_rows(const Located& located, exec::RowSource& source) {
  const InputVariable& variable = file_.view[located.variable];
  const std::uint64_t budget_bytes = file_.options.budget_bytes;
  const layout::Placement& placement = located.placement();
  source.tile_rows = std::max<std::uint64_t>(1, placement.tile()[0]);
  const std::uint64_t held_bytes = std::max(budget_bytes / 4, placement.tile_bytes());
  if (source.row_bytes != 0 && source.tile_rows <= held_bytes / source.row_bytes) {
    source.rows_together = source.tile_rows;
  }
  auto decoder = std::make_shared<layout::TileDecoder>(
      variable.filters, file_.view.name_of(located.variable, located.step),
      layout::longest_tile(budget_bytes));
  auto memory = std::make_shared<codec::ScratchMemory>();
  source.put = [this, &located, &variable, decoder, memory](
                   std::uint64_t first, std::uint64_t count, const exec::RowRuns& for_each_run) {
    const std::size_t element_bytes = variable.definition.type.bytes;
    const layout::Placement& tiles = located.placement();
    const Box all = model::whole(tiles.shape());
    decoder->require_small(located.tiles);
    for (const layout::Piece& piece : layout::cut(tiles, rows_of(all, first, count))) {
      const std::span<std::byte> dense = memory->take(tiles.tile_bytes(piece.tile_index));
      decode(located, piece, *decoder, dense);
      const Box whole = tiles.whole_tile(piece.tile_index);
      for_each_run([&](std::uint64_t row, std::uint64_t rows, std::byte* out) {
        const Box run = rows_of(all, row, rows);
        if (const auto part = model::intersect(run, piece.box)) {
          model::copy_box(dense.data(), whole, out, run, *part, element_bytes);
        }
      });
    }
  };
}

void RowReader::decode(const Located& located, const layout::Piece& piece,
                       layout::TileDecoder& decoder, std::span<std::byte> dense) {
  const InputVariable& variable = file_.view[located.variable];
  const model::Definition& d = variable.definition;
  const layout::Placement& tiles = located.placement();
  if (tiles.address(piece.tile_index) == layout::absent) {
    checked_.check_absent(located, piece.box);
    model::fill(dense, d.type, d.fill);
    return;
  }
  decoder.read(file_.source->file(tiles), located.tiles, piece.tile_index, dense);
  checked_.check_tile(located, piece.tile_index, dense);
  if (variable.big_endian) {
    model::swap_bytes(dense, d.type);
  }
}

}  // namespace sluice::commit
