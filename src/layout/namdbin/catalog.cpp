#include "layout/namdbin/namdbin.hpp"
#include "model/name.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::namdbin {

std::optional<Shape> shape_in(storage::File& file) {
  std::uint32_t word = 0;
  if (file.read(0, std::as_writable_bytes(std::span(&word, 1))) != sizeof word) {
    return std::nullopt;
  }
  const std::uint64_t bytes = file.size() - header_bytes;
  for (const bool big : {false, true}) {
    const std::uint32_t other =
        word >> 24 | (word >> 8 & 0xff00) | (word << 8 & 0xff0000) | word << 24;
    const std::uint64_t atoms = big ? other : word;
    if (atoms != 0 && atoms * atom_bytes == bytes) {  // four zeros identify nothing
      return Shape{atoms, big};
    }
  }
  return std::nullopt;
}

std::unique_ptr<NamdbinCatalog> NamdbinCatalog::open(storage::File& file) {
  const std::optional<Shape> shape = shape_in(file);
  if (!shape) {
    throw Error(Code::format,
                file.path() + ": format namdbin: the length does not fit the number of atoms");
  }
  std::unique_ptr<NamdbinCatalog> catalog(new NamdbinCatalog(*shape));
  catalog->variables_[0].definition.name = model::stem_of(file.path());
  return catalog;
}

NamdbinCatalog::NamdbinCatalog(const Shape& shape) {
  StoredVariable variable;
  variable.definition.type = type_of<double>();
  variable.definition.shape = {shape.atoms, 3};
  variable.tile = variable.definition.shape;
  variable.big_endian = shape.big_endian;
  variable.placeable = true;
  variable.storage = "contiguous";
  variables_.push_back(std::move(variable));
}

Placement NamdbinCatalog::locate(std::uint32_t variable, std::uint64_t, const model::Box&) {
  const model::Definition& definition = variables_.at(variable).definition;
  std::vector<std::uint64_t> addresses;
  if (definition.shape.volume() != 0) {
    addresses.push_back(header_bytes);
  }
  return {variable, definition.type.bytes, definition.shape, definition.shape, addresses};
}

}  // namespace sluice::layout::namdbin
