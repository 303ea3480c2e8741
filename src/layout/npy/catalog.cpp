#include "layout/npy/catalog.hpp"

#include <algorithm>
#include <vector>

#include "model/convert.hpp"
#include "model/name.hpp"

namespace sluice::layout::npy {

using model::Box;
using model::Dims;

std::unique_ptr<NpyCatalog> NpyCatalog::open(storage::File& file) {
  return std::unique_ptr<NpyCatalog>(new NpyCatalog(file, read_header(file)));
}

NpyCatalog::NpyCatalog(storage::File& file, const Header& header) : file_(file), header_(header) {
  StoredVariable variable;
  model::Definition& definition = variable.definition;
  definition.name = model::stem_of(file.path());
  definition.type = header.type;
  definition.stepped = header.growing;
  const std::size_t lead = header.growing ? 1 : 0;
  for (std::size_t d = lead; d < header.extents.size(); ++d) {
    definition.shape.push_back(header.extents[d]);
  }
  variable.tile = definition.shape;
  variable.big_endian = header.big_endian;
  variable.placeable = !header.fortran_order || definition.shape.rank() < 2;
  variable.storage = header.fortran_order ? "contiguous, Fortran order" : "contiguous";
  steps_ = header.growing ? header.extents[0] : 0;
  variables_.push_back(std::move(variable));
}

Placement NpyCatalog::locate(std::uint32_t variable, std::uint64_t step, const Box&) {
  const model::Definition& definition = variables_.at(variable).definition;
  std::vector<std::uint64_t> addresses;
  if (definition.shape.volume() != 0) {
    const std::uint64_t index = definition.stepped ? step : 0;
    addresses.push_back(header_.data_offset + index * definition.bytes_per_step());
  }
  return {variable, definition.type.bytes, definition.shape, definition.shape, addresses};
}

void NpyCatalog::read(std::uint32_t variable, std::uint64_t, const Box& box,
                      std::span<std::byte> out) {
  // Fortran order: the first dimension is the fastest, so the file is read in runs along it and
  // every element is copied to its place in C order.
  const model::Definition& definition = variables_.at(variable).definition;
  const std::size_t size = definition.type.bytes;
  const int rank = definition.shape.rank();
  if (box.empty()) {
    return;
  }
  std::vector<std::byte> run(box.count[0] * size);
  const std::uint64_t row = box.volume() / box.count[0];  // elements of `out` between two elements
                                                          // of a run
  Dims at = box.start;
  for (std::uint64_t column = 0; column < row; ++column) {
    std::uint64_t in_file = 0;
    for (int d = rank - 1; d >= 0; --d) {
      in_file = in_file * definition.shape[d] + at[d];
    }
    if (file_.read(header_.data_offset + in_file * size, run) != run.size()) {
      throw Error(Code::truncated, file_.path() + ": truncated: ends inside its data");
    }
    if (header_.big_endian) {
      model::swap_bytes(run, definition.type);
    }
    for (std::uint64_t i = 0; i < box.count[0]; ++i) {
      std::copy_n(run.begin() + static_cast<std::ptrdiff_t>(i * size), size,
                  out.begin() + static_cast<std::ptrdiff_t>((i * row + column) * size));
    }
    for (int d = rank - 1; d > 0 && ++at[d] == box.end(d); --d) {
      at[d] = box.start[d];
    }
  }
}

}  // namespace sluice::layout::npy
