// Reads on one rank, through libhdf5 or a decoder, what cannot be read by address, and the numbers
// of rows of varying variables.
//
// Invariant: what a step does not have is left as the caller's buffer had it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layout/encoded_tiles.hpp"
#include "layout/hdf5/chunk_locator.hpp"
#include "layout/hdf5/step_datasets.hpp"

namespace sluice::layout::hdf5 {

class ElementReader {
 public:
  /// All must outlive the object.
  ElementReader(const OpenFile& file, OtherFiles& others, StepDatasets& datasets,
                ChunkLocator& locator)
      : file_(file), others_(others), datasets_(datasets), locator_(locator) {}

  /// As layout::Catalog::read().
  void read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
            std::span<std::byte> out);
  /// As layout::Catalog::rows_by_step(), for a file with `steps` steps.
  std::vector<std::uint64_t> rows_by_step(std::uint32_t variable, std::uint64_t steps);

 private:
  /// What netCDF's programs show where a dataset has no elements.
  static void fill_as_netcdf(const model::Definition& definition, std::span<std::byte> out);
  void read_by_library(hid_t dataset, std::uint32_t variable, std::uint64_t step,
                       const model::Box& box, std::span<std::byte> out) const;
  /// Of a dataset that ends before its variable (hdf5/padding).
  void read_padded(hid_t dataset, std::uint32_t variable, const model::Box& box,
                   std::span<std::byte> out) const;
  std::vector<std::uint64_t> rows_of_groups(std::uint32_t variable, std::uint64_t steps);
  std::vector<std::uint64_t> rows_in_list(std::uint32_t variable, std::uint64_t steps);
  Handle open_lengths(const std::string& name, std::uint32_t variable);

  const OpenFile& file_;
  OtherFiles& others_;
  StepDatasets& datasets_;
  ChunkLocator& locator_;
  LastTile last_tile_;
};

}  // namespace sluice::layout::hdf5
