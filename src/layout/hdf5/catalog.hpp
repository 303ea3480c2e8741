// What an HDF5 file contains and where: the reading side of the layout.
//
// Opened on one rank; the others get Placements. The catalog opens the file and owns what its parts
// share: the log, the structure, the attributes, where elements are, and the elements that cannot
// be read by address.
//
// Invariants: a part knows what it is given here, and never the catalog. The parts refer to members
// of the catalog, which therefore does not move.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layout/hdf5/attribute_reader.hpp"
#include "layout/hdf5/chunk_locator.hpp"
#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/element_reader.hpp"
#include "layout/hdf5/log_reader.hpp"
#include "layout/hdf5/open_file.hpp"
#include "layout/hdf5/step_datasets.hpp"
#include "layout/hdf5/step_groups.hpp"
#include "layout/hdf5/structure.hpp"
#include "layout/hdf5/virtual_sources.hpp"
#include "layout/placement.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

using layout::StoredVariable;
using layout::UnreadableDataset;

class Catalog final : public layout::Catalog {
 public:
  /// Reads the structure of `file` (which must outlive the catalog). Error format if it is not
  /// HDF5, truncated if it is shorter than its superblock says, version if /sluice has a newer
  /// major.
  static std::unique_ptr<Catalog> open(storage::File& file);

  const char* format() const override;
  std::string title() const override;
  /// Error format unless Sluice wrote the file.
  void require_ours() const;
  /// How Sluice arranged the objects of the file; stacked for files of other programs.
  Profile profile() const noexcept { return log_.profile; }
  StepGroups step_groups() const { return {log_, variables_}; }
  /// openPMD: the iteration of each step.
  const std::vector<std::uint64_t>& step_numbers() const noexcept { return log_.step_numbers; }
  /// Did netCDF make it, or Sluice as netCDF would?
  bool is_of_netcdf() const;
  /// Rows between steps that follow one another in the variable's dataset; 0: they are stacked.
  std::uint64_t slot(std::uint32_t variable) const { return arrangements_[variable].slot; }
  std::uint64_t checksum_chunk_words() const noexcept { return log_.checksum_chunk_words; }
  std::uint64_t checksum_chunks() const noexcept { return log_.checksum_chunks; }
  /// Error unsupported if another program's copy of the file has its log or its steps in a form
  /// that cannot grow as Sluice needs.
  void require_growable() const;
  /// Error unsupported if another program made some variables longer than others, so that steps
  /// that are appended would not be the next ones of all, or would give missing values others.
  void require_equal_steps() const;

  Placement locate(std::uint32_t variable, std::uint64_t step, const model::Box& region) override;
  EncodedTiles locate_encoded(std::uint32_t variable, std::uint64_t step,
                              const model::Box& region) override;
  void read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
            std::span<std::byte> out) override;
  std::vector<std::uint64_t> rows_by_step(std::uint32_t variable) override;
  std::vector<std::uint64_t> parts(std::uint32_t variable, std::uint64_t step) override;
  std::vector<std::uint64_t> checksum_words(const CommitRow& commit) override;
  std::vector<model::Attribute> attributes() override;
  std::vector<layout::UnreadableDataset> other_objects() override;

 private:
  explicit Catalog(storage::File& file);
  void read_added_times();
  /// Must chunks that end beyond the dataset be stored without its filters?
  bool has_plain_edges(const StoredVariable& variable) const;

  DriverState state_;
  Handle hdf5_;
  OtherFiles others_;
  Log log_;
  std::vector<Arrangement> arrangements_;  ///< one for each variable
  std::vector<std::string> groups_;        ///< without the library's own
  std::vector<std::string> empty_groups_;  ///< those of them with nothing in them
  std::vector<UnreadableDataset> committed_types_;
  OpenFile file_;
  AttributeReader attributes_;
  StepDatasets datasets_;
  ChunkLocator locator_;
  ElementReader elements_;
};

}  // namespace sluice::layout::hdf5
