#include "layout/zarr/array.hpp"

namespace sluice::layout::zarr {

std::uint64_t Array::inner_count() const {
  std::uint64_t count = 1;
  for (int d = 0; d < inner.rank(); ++d) {
    count = model::checked_product(count, chunk[d] / inner[d], "chunks of a shard");
  }
  return count;
}

std::string Array::object_name(const model::Dims& chunk_at) const {
  std::string name = prefixed ? "c" : "";
  for (const std::uint64_t at : chunk_at) {
    name += (name.empty() ? "" : std::string(1, separator)) + std::to_string(at);
  }
  return name.empty() ? "0" : name;
}

}  // namespace sluice::layout::zarr
