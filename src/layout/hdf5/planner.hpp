// The planner of plain HDF5 files: asks serial libhdf5, through the planner driver, where bytes go.
//
// Invariants: the file stays open between commits and H5Fflush makes each one; every address comes
// from the driver's note or H5Dget_offset and lies at or beyond the frontier; the superblock never
// carries the mark "open for write".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/layout.hpp"

namespace sluice::layout::hdf5 {

struct PlannerOptions {
  /// Raw data of at least `threshold_bytes` starts at multiples of `alignment_bytes`.
  std::uint64_t alignment_bytes = 4096;
  std::uint64_t threshold_bytes = 4096;
};

class Hdf5Planner final : public Planner {
 public:
  /// Plans a new file in the empty `file`, which must outlive the planner.
  static std::unique_ptr<Hdf5Planner> create(storage::File& file, const PlannerOptions& options);
  /// Plans additions to a file that Sluice wrote. Its variables are known() from the start.
  static std::unique_ptr<Hdf5Planner> append(storage::File& file, const PlannerOptions& options);
  ~Hdf5Planner() override;

  /// The variables of an appended file, in the file's order.
  const std::vector<model::Definition>& known() const noexcept { return definitions_; }
  /// Chunk of a known variable without the step dimension.
  const model::Dims& tile(std::uint32_t variable) const { return made_.at(variable).tile; }

  std::uint64_t steps() const override { return steps_; }
  std::uint64_t committed_end() const override { return state_.frontier; }
  void define(const model::Definition& definition) override;
  void set_attribute(const model::Attribute& attribute) override;
  CommitPlan plan_commit(const CommitRequest& request) override;
  void make_all() override;
  MetadataUpdate seal() override;
  void committed() override;
  void abandon() override;

 private:
  struct Made {
    Handle dataset;
    model::Dims tile;
    bool exists = false;
    bool committed = false;
  };

  Hdf5Planner(storage::File& file, const PlannerOptions& options);
  void open_new();
  void open_existing();
  void load_known();
  void make_log();
  void close() noexcept;

  hid_t dataset(std::uint32_t variable);
  void make(std::uint32_t variable, const model::Dims& tile);
  void make_fixed(std::uint32_t variable, hid_t list);
  void make_stepped(std::uint32_t variable, hid_t list);
  void make_groups(const std::string& path);
  void extend(std::uint32_t variable, std::uint64_t steps);
  Placement place_fixed(std::uint32_t variable);
  Placement place_step(std::uint32_t variable, std::uint64_t step);
  Placement place_checksums(std::uint64_t words, CommitRow& row);
  void append_row(const CommitRow& row);
  void append_time(std::uint64_t step, double time);
  void apply_attributes();
  /// Enters the chunk that begins at element `at` and returns its address.
  std::uint64_t note_chunk(hid_t dataset, const hsize_t* at, std::uint64_t chunk_bytes,
                           const std::string& name);

  storage::File& file_;
  PlannerOptions options_;
  DriverState state_;
  Handle hdf5_;
  Handle creation_order_;  ///< group creation list that tracks and indexes creation order
  bool on_disk_ = false;   ///< has anything been committed?
  std::uint64_t steps_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t checksum_chunks_ = 0;
  std::uint64_t checksum_chunk_words_ = 0;
  bool has_time_ = false;
  struct Counters {
    std::uint64_t steps, rows, checksum_chunks, checksum_chunk_words;
    bool has_time;
  } committed_{};
  std::vector<model::Definition> definitions_;
  std::vector<Made> made_;
  std::vector<model::Attribute> pending_;
  std::vector<model::Attribute> applied_;
};

}  // namespace sluice::layout::hdf5
