#include "layout/appending_planner.hpp"

#include "sluice/error.hpp"

namespace sluice::layout {

void refuse_rewriting(const model::Definition& definition) {
  throw Error(Code::unsupported,
              definition.name +
                  ": was written by an earlier commit, and committed data is never overwritten "
                  "in place: define it with steps");
}

Placement in_one_piece(std::uint32_t variable, const model::Definition& definition,
                       const model::Dims& shape, std::uint64_t address) {
  std::vector<std::uint64_t> addresses;
  if (shape.volume() != 0 && definition.type.bytes != 0) {
    addresses.push_back(address);
  }
  return {variable, definition.type.bytes, shape, shape, addresses};
}

}  // namespace sluice::layout
