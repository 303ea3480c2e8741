// Looks up where the elements of a step are in the file: the address of a contiguous dataset, or
// those of its chunks.
//
// Invariants: no raw data is read. The driver records the addresses of chunks (H5Dread_chunk into
// the placeholder), so that a look-up costs one walk of the chunk index, in files of Sluice and of
// any other program. Memory is taken for the chunks that the file holds, not for those that its
// shapes declare.
#pragma once

#include <cstdint>
#include <functional>

#include "layout/encoded_tiles.hpp"
#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/step_datasets.hpp"
#include "layout/placement.hpp"

namespace sluice::layout::hdf5 {

class ChunkLocator {
 public:
  /// `state`: that of the driver through which `datasets` are open. Both must outlive the object.
  ChunkLocator(DriverState& state, StepDatasets& datasets) : state_(state), datasets_(datasets) {}

  /// As layout::Catalog::locate() and locate_encoded().
  Placement locate(std::uint32_t variable, std::uint64_t step, const model::Box& region);
  EncodedTiles locate_encoded(std::uint32_t variable, std::uint64_t step, const model::Box& region);

 private:
  using Visit = std::function<void(std::uint64_t tile, const Extent&, std::uint32_t mask)>;

  Placement locate_chunks(std::uint32_t variable, std::uint64_t step, const model::Box& region);
  /// Calls visit(tile, extent, mask) for the existing chunks of a step that overlap the region, in
  /// ascending order; `most_bytes`: limit of a chunk.
  void visit_chunks(std::uint32_t variable, std::uint64_t step, const model::Box& region,
                    std::uint64_t most_bytes, const Visit& visit);

  DriverState& state_;
  StepDatasets& datasets_;
};

}  // namespace sluice::layout::hdf5
