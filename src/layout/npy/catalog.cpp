#include "layout/npy/catalog.hpp"

#include <utility>
#include <vector>

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
  if (!fortran_) {
    fortran_.emplace(file_, header_, variables_.at(variable).definition.shape);
  }
  fortran_->read(box, out);
}

}  // namespace sluice::layout::npy
