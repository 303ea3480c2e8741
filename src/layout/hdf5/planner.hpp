// The planner of plain HDF5 files: asks serial libhdf5, through the planner driver, for addresses.
//
// Invariants: the file stays open between commits and H5Fflush completes each one; every address
// comes from the driver's record or H5Dget_offset and is at or beyond the frontier; the superblock
// never has the mark "open for write".
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/known_contents.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/profile.hpp"
#include "layout/layout.hpp"
#include "layout/netcdf4/scales.hpp"
#include "layout/openpmd/rules.hpp"
#include "layout/vtkhdf/steps.hpp"

namespace sluice::layout::hdf5 {

/// Size: One function for each kind of HDF5 object that a commit creates or extends. They share the
/// open file, and abandon() undoes the work of all of them.
class Hdf5Planner final : public Planner {
 public:
  /// Plans a new file in the empty `file`, which must outlive the planner.
  static std::unique_ptr<Hdf5Planner> create(storage::File& file, const PlannerOptions& options,
                                             Profile profile = Profile::stacked);
  /// Plans additions to a file that Sluice wrote. Its variables are known() from the start.
  static std::unique_ptr<Hdf5Planner> append(storage::File& file, const PlannerOptions& options);
  ~Hdf5Planner() override;

  const char* format() const override;
  const std::vector<model::Definition>& known() const override { return definitions_; }
  Tiling tiling(std::uint32_t variable) const override { return made_.at(variable).tile; }
  std::uint64_t steps() const override { return steps_; }
  std::uint64_t committed_end() const override { return state_.frontier; }
  void define(const model::Definition& definition) override;
  void set_attribute(const model::Attribute& attribute) override;
  CommitPlan plan_commit(const CommitRequest& request) override;
  void drop_steps(std::uint64_t steps, std::int64_t modified_ns) override;
  std::vector<std::uint64_t> place_encoded(std::span<const EncodedTile> tiles) override;
  void make_all() override;
  MetadataUpdate seal() override;
  void planned() override;
  void committed() override;
  void abandon() override;

 private:
  struct Made {
    Handle dataset;
    model::Dims tile;
    /// Of a fixed array of VTK's: the rows of each part, if they were told.
    std::vector<std::uint64_t> parts = {};
    std::uint64_t slot = 0;  ///< rows between steps that follow one another; 0: they are stacked
    bool is_big_endian = false;  ///< another program made it anew
    bool exists = false;
    bool committed = false;
  };

  Hdf5Planner(storage::File& file, const PlannerOptions& options, Profile profile);
  void open_new();
  void open_existing();
  void load_known();
  void make_log();
  void make_commits();
  void make_checksums(std::uint64_t chunk_words);
  void close() noexcept;

  hid_t dataset(std::uint32_t variable);
  /// One of own_, which is opened when it is first asked for.
  hid_t own_dataset(Handle& dataset, const char* name) const;
  void make(std::uint32_t variable, const model::Dims& tile, bool places_now = true);
  void make_touched(const CommitRequest& request);
  void make_fixed(std::uint32_t variable, hid_t list, bool places_now);
  void make_encoded_fixed(std::uint32_t variable, hid_t list);
  void make_stepped(std::uint32_t variable, hid_t list);
  void set_filters(std::uint32_t variable, hid_t list) const;
  void prepare_encoded(const Touched& touched);
  Handle creation_list(const model::Definition& definition) const;
  /// Attaches scales to the dimensions of a variable that was just created.
  void attach_dimensions(std::uint32_t variable);
  void make_scale(const netcdf4::Use& use);
  /// Can every dimension of `definition` have a scale? Always in netCDF-4.
  bool has_scales(const model::Definition& definition, const std::vector<netcdf4::Use>& uses) const;
  /// Stacked: did the caller name dimensions?
  bool names_dimensions() const;
  /// Stacked: makes way for a dataset with the name of a dimension without coordinates.
  void replace_scale(const std::string& name, const std::function<void()>& make_dataset);
  /// The chunk of a step that begins at element `start` of it.
  std::array<hsize_t, model::max_rank> chunk_at(std::uint32_t variable, std::uint64_t step,
                                                const model::Dims& start) const;
  void make_prototype(std::uint32_t variable);
  void make_step_group(std::uint64_t step, double time);
  /// Grouped: the path of the group of a step.
  std::string group_of(std::uint64_t step) const;
  void make_groups(const std::string& path);
  void extend(std::uint32_t variable, std::uint64_t steps);
  Placement place_fixed(std::uint32_t variable);
  /// Throws after a failed write of the placeholder: the error of the storage, of a driver rule, or
  /// of libhdf5.
  [[noreturn]] void throw_refused(const std::string& what);
  std::uint64_t place_contiguous(hid_t dataset, const model::Definition& definition);
  Placement place_step(const Touched& touched, std::uint64_t step);
  Placement place_group(const Touched& touched, std::uint64_t step);
  Placement place_checksums(std::uint64_t words, CommitRow& row);
  void append_row(const CommitRow& row);
  void keep_rows_below(std::uint64_t steps);
  void make_time();
  bool keeps_time(double time) const;
  void append_time(std::uint64_t step, double time);
  void apply_attributes();
  bool apply(const model::Attribute& attribute);
  /// Writes the list of contents to the file, if it has changed.
  void write_contents();
  /// The first commit of a new file may be like that of another: then nothing is read back.
  Contents contents();
  FirstCommit first_commit() const;
  bool is_variable(const std::string& name) const;
  /// Adds the chunk that starts at element `at` to the index and returns its address.
  std::uint64_t note_chunk(hid_t dataset, const hsize_t* at, std::uint64_t chunk_bytes,
                           const std::string& name, std::uint32_t mask = 0);

  // -- the group VTKHDF
  vtkhdf::Kind vtk_kind() const;
  /// Do the steps of a variable follow one another in its dataset?
  bool is_in_a_row(const model::Definition& definition) const;
  void make_in_a_row(std::uint32_t variable, hid_t list);
  std::vector<vtkhdf::Array> vtk_arrays(const CommitRequest& request);
  /// A commit that is no step: a file may have no steps at all.
  void describe_vtk_static(const CommitRequest& request);
  void append_vtk_step(const CommitRequest& request);
  void write_numbers(const vtkhdf::Numbers& numbers);
  void write_vtk_defaults(vtkhdf::Kind kind, bool has_steps);
  void say_vtk_steps(std::uint64_t steps);
  void drop_vtk_steps(std::uint64_t steps);

  // -- openPMD
  /// The number of the step that is planned, as the caller set it or one more than the last; 0 in
  /// other profiles.
  std::uint64_t number_step();
  bool is_iteration(const model::Attribute& attribute) const;
  /// Is it a mesh, a species, a record or a component, whose attributes each step has?
  bool is_openpmd_part(const std::string& owner) const;
  void write_openpmd_root();
  void make_iteration(double time);
  void write_openpmd_step(const CommitRequest& request);

  storage::File& file_;
  PlannerOptions options_;
  Profile profile_;
  DriverState state_;
  Handle hdf5_;
  Handle creation_order_;  ///< group creation list that tracks and indexes creation order
  /// Every step adds to them. They stay open like those of the variables: opening one, and reading
  /// its last chunk anew, takes longer than adding to it.
  struct OwnDatasets {
    Handle time, commits, checksums;
  } own_;
  bool on_disk_ = false;  ///< has anything been committed?
  std::uint64_t steps_ = 0;
  std::uint64_t planned_step_ = 0;  ///< that of the commit being planned
  std::uint64_t rows_ = 0;
  std::uint64_t checksum_chunks_ = 0;
  std::uint64_t checksum_chunk_words_ = 0;
  bool has_time_ = false;
  bool contents_changed_ = false;
  /// The state after a commit, restored by abandon().
  struct Counters {
    std::uint64_t steps, rows, checksum_chunks, checksum_chunk_words;
    bool has_time;
    std::size_t inherited;
    std::uint64_t frontier;
  } committed_{};
  struct UnderWay {
    Counters counters{};
    std::vector<bool> made;                 ///< by variable
    std::vector<model::Attribute> applied;  ///< by this commit
  };
  Counters counters() const;
  std::deque<UnderWay> under_way_;  ///< one for each of state_.under_way
  std::vector<model::Definition> definitions_;
  std::vector<Made> made_;
  std::vector<model::Attribute> pending_;
  std::vector<model::Attribute> applied_;
  std::vector<model::Attribute> inherited_;  ///< grouped: for the dataset of every further step
  std::vector<std::uint64_t> numbers_;       ///< openPMD: the iteration of each step
  netcdf4::Scales scales_;
};

/// A dataset that grows along its first dimension, in chunks of `chunk`.
/// `fill`: one element, null for zeros.
Handle make_growing(hid_t file, const char* name, hid_t type, const model::Dims& dims,
                    const model::Dims& chunk, const void* fill = nullptr);

}  // namespace sluice::layout::hdf5
