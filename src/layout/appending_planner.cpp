#include "layout/appending_planner.hpp"

namespace sluice::layout {

Placement in_one_piece(std::uint32_t variable, const model::Definition& definition,
                       const model::Dims& shape, std::uint64_t address) {
  std::vector<std::uint64_t> addresses;
  if (shape.volume() != 0 && definition.type.bytes != 0) {
    addresses.push_back(address);
  }
  return {variable, definition.type.bytes, shape, shape, addresses};
}

}  // namespace sluice::layout
