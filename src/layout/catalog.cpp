#include "layout/catalog.hpp"

#include "sluice/error.hpp"

namespace sluice::layout {

EncodedTiles Catalog::locate_encoded(std::uint32_t, std::uint64_t, const model::Box&) {
  throw Error(Code::internal, std::string(format()) + ": holds no encoded tiles");
}

}  // namespace sluice::layout
