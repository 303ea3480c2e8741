// An HDF5 file that a planner has open: serial libhdf5 on the planner driver, which adds to its
// metadata, and is asked for the addresses of raw data.
//
// Invariants: the file stays open between commits, or is opened anew where libhdf5 would keep lists
// of free space in it, and flush() completes each one; every address comes from the driver's record
// or H5Dget_offset; the superblock never has the mark "open for write".
#pragma once

#include <cstdint>
#include <string>

#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/profile.hpp"
#include "layout/layout.hpp"

namespace sluice::layout::hdf5 {

class PlannedFile {
 public:
  /// `storage` must outlive it.
  PlannedFile(storage::File& storage, const PlannerOptions& options, Profile profile);

  /// Opens it as a new file, which has nothing in it.
  void create();
  /// Opens what the storage has, with what is under way. Error unsupported if libhdf5 would give
  /// what it counts as free in the file to raw data.
  void open();
  /// Must it be closed and opened again before the next commit is planned? What libhdf5 has noted
  /// as free is below the frontier then, and it would give that to raw data. It forgets it at a
  /// close.
  bool is_stale() const noexcept { return is_stale_; }
  void close() noexcept;

  hid_t id() const noexcept { return hdf5_.get(); }
  const std::string& path() const noexcept { return storage_.path(); }
  storage::File& storage() const noexcept { return storage_; }
  const PlannerOptions& options() const noexcept { return options_; }
  Profile profile() const noexcept { return profile_; }
  /// The end of what committed states may use: no new address is below it.
  std::uint64_t frontier() const noexcept { return state_.frontier; }

  void make_group(const std::string& path);
  void make_groups_above(const std::string& path);
  /// The dataset at `path`, which must have `rank` dimensions. Opened when it is first asked for:
  /// opening one anew for each commit, and reading its last chunk, takes longer than adding to it.
  hid_t opened(Handle& dataset, const char* path, int rank);

  /// Adds the chunk that starts at element `at` to the index of a dataset and returns its address.
  std::uint64_t place_chunk(hid_t dataset, const hsize_t* at, std::uint64_t chunk_bytes,
                            const std::string& name, std::uint32_t mask = 0);
  /// The address of a contiguous dataset, which gets one if it has none.
  std::uint64_t place_contiguous(hid_t dataset, const model::Definition& definition);

  /// Has anything changed that the list of contents shows, since contents_written()?
  bool has_new_contents() const noexcept { return has_new_contents_; }
  void note_new_contents() noexcept { has_new_contents_ = true; }
  void contents_written() noexcept { has_new_contents_ = false; }

  /// The metadata of everything since the last planned().
  MetadataUpdate flush();
  /// What flush() returned is being written: the next commit is planned on top of it.
  void planned();
  /// The oldest planned() update is in the file.
  void committed() { state_.under_way.pop_front(); }
  /// Of a closed file: forgets what is not committed(). `frontier`: that of the last commit.
  void forget_uncommitted(std::uint64_t frontier);

 private:
  Handle access();
  /// Throws after a failed write of the placeholder: the error of the storage, of a driver rule, or
  /// of libhdf5.
  [[noreturn]] void throw_refused(const std::string& what);

  storage::File& storage_;
  PlannerOptions options_;
  Profile profile_;
  DriverState state_;
  Handle hdf5_;
  Handle group_list_;
  bool keeps_free_lists_ = false;  ///< while it is open; those that Sluice makes do not
  bool is_stale_ = false;
  bool has_new_contents_ = false;
};

}  // namespace sluice::layout::hdf5
