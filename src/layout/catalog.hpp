// What a file contains and where: the reading side of a layout.
//
// Opened on one rank; the others get Placements. Readers use this interface only, so that the
// layers above need not know the format of a file.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layout/encoded_tiles.hpp"
#include "layout/part_set.hpp"
#include "layout/placement.hpp"
#include "layout/stored_variable.hpp"
#include "model/definition.hpp"

namespace sluice::layout {

/// The variable in which formats with times keep the time of each step.
inline constexpr const char* time_name = "time";

/// The companion of a varying variable `x` is `x_length`, in formats that have one.
inline constexpr const char* length_suffix = "_length";

/// The record of one commit: one row of 8 words of 64 bits, the last of them a checksum of the
/// others. In a row of an older Sluice that word is 0, and the row cannot be verified.
struct CommitRow {
  static constexpr std::uint64_t no_step = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t words = 8;

  std::uint64_t step = no_step;
  double time = 0;
  std::uint64_t first_word = 0;  ///< of the checksum words of this commit
  std::uint64_t word_count = 0;
  std::int64_t modified_ns = 0;  ///< mtime that the file was given
  std::uint64_t rows_proof = 0;  ///< RowsProof of its step; 0: not recorded
  std::uint64_t number = 0;      ///< openPMD: the iteration of its step
  bool is_intact = true;         ///< set on unpacking: did it match its checksum?

  std::array<std::uint64_t, words> pack() const;
  static CommitRow unpack(std::span<const std::uint64_t, words> row);
};

/// Proves how many rows each varying variable has in one step. The order of variables does not
/// matter.
class RowsProof {
 public:
  void add(const std::string& variable, std::uint64_t rows);
  /// Never 0.
  std::uint64_t value() const noexcept { return sum_ == 0 ? 1 : sum_; }

 private:
  std::uint64_t sum_ = 0;
};

/// The content of a file as of its last commit, kept in the file: a hash of the name and one of the
/// description of each thing.
using Contents = std::map<std::uint64_t, std::uint64_t>;
/// Replaces what they say of the attribute, or adds it.
void record(Contents& contents, const model::Attribute& attribute);

/// For what was read.
Contents contents_of(const std::vector<StoredVariable>& variables,
                     const std::vector<model::Attribute>& attributes);
/// Had the file a variable of that name when they were recorded?
bool is_recorded_name(const Contents& contents, const std::string& name);
bool is_recorded_attribute(const Contents& contents, const std::string& owner,
                           const std::string& name);
/// Notes which variables in them say a fill value without being partial: HDF5 shows the value only.
void record_fills(Contents& contents, const std::vector<model::Definition>& definitions);
bool is_recorded_fill(const Contents& contents, const std::string& name);
/// Is it unchanged since then?
bool is_recorded(const Contents& contents, const model::Definition& definition);

/// A dataset that Sluice cannot read, and what its type is.
struct UnreadableDataset {
  std::string name;
  std::string type;
};

/// A variable or an attribute that is missing, or differs from what was committed.
struct Departure {
  std::string owner;  ///< variable or group; empty: the file
  std::string what;
};

/// An unlimited dimension, or a variable that can be resized: it no longer can be where Sluice
/// makes it anew.
struct Growing {
  std::string name;
  bool is_dimension = false;
};

class Catalog;
/// Steps in which some variable has another number of rows than was committed. `rows`: by variable,
/// from Catalog::rows_by_step().
std::vector<std::uint64_t> steps_of_other_rows(const Catalog& catalog,
                                               std::span<const std::vector<std::uint64_t>> rows);

class Catalog {
 public:
  virtual ~Catalog() = default;

  /// Name of the format's row in formats().
  virtual const char* format() const = 0;
  /// What people call the file, where that is not the format's name: "netCDF-4", "Zarr 2".
  virtual std::string title() const { return format(); }
  /// Every array whose type has a Sluice counterpart, except the library's own.
  const std::vector<StoredVariable>& variables() const noexcept { return variables_; }
  /// The other arrays.
  const std::vector<UnreadableDataset>& unreadable() const noexcept { return unreadable_; }
  /// Attributes that attributes() does not return, or not unchanged: owner and name, and why.
  const std::vector<UnreadableDataset>& unread_attributes() const noexcept {
    return unread_attributes_;
  }
  /// What the file contains besides datasets and their groups: empty groups, committed types.
  virtual std::vector<UnreadableDataset> other_objects() { return {}; }
  /// What of another program's file can grow. A dimension comes without its group.
  const std::vector<Growing>& growing() const noexcept { return growing_; }
  /// Is it a part of a set?
  bool is_part() const noexcept { return is_part_; }
  /// Did Sluice write the file?
  bool ours() const noexcept { return ours_; }
  std::uint64_t steps() const noexcept { return steps_; }
  /// The times of the last steps, which another program added: the log does not have them. NaN
  /// where the file has no time. As long as there are such steps.
  const std::vector<double>& added_times() const noexcept { return added_times_; }
  /// Variables that do not have all steps, because another program added steps to others only:
  /// what each lacks.
  const std::vector<std::string>& lacking() const noexcept { return lacking_; }
  const std::vector<CommitRow>& commits() const noexcept { return commits_; }
  /// What differs from the last commit. Additions do not count. Empty if the format keeps no
  /// contents.
  std::vector<Departure> departures(const std::vector<model::Attribute>& attributes) const;
  /// Error damaged if a row of the log does not match its checksum. `remedy` is the end of its
  /// text.
  void require_intact_log(const std::string& path, const std::string& remedy) const;
  bool has_time() const noexcept { return has_time_; }
  /// For the index of a set of parts: the set; nullptr for ordinary files.
  const PartSet* set() const noexcept { return set_ ? &*set_ : nullptr; }

  /// The addresses of a placeable variable's elements in one step (ignored for fixed variables).
  /// Tiles that overlap `region` are looked up; the others are absent in the result.
  virtual Placement locate(std::uint32_t variable, std::uint64_t step,
                           const model::Box& region) = 0;
  /// The same for a variable with filters. Error damaged if the index cannot be right.
  virtual EncodedTiles locate_encoded(std::uint32_t variable, std::uint64_t step,
                                      const model::Box& region);
  /// Reads a box through the format's library, or decodes it (one rank, converted to dense
  /// little-endian file type). The part of a varying variable that the step does not have is not
  /// changed in `out`. Called only for variables without a placement.
  virtual void read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
                    std::span<std::byte> out);
  /// The number of rows in every step of a varying variable; empty for others.
  virtual std::vector<std::uint64_t> rows_by_step(std::uint32_t) { return {}; }
  /// How many rows of a step (ignored for fixed variables) belong to each part of VTK's data set;
  /// empty where that is not told, or there are no parts.
  virtual std::vector<std::uint64_t> parts(std::uint32_t, std::uint64_t) { return {}; }
  /// The checksum words of one commit.
  virtual std::vector<std::uint64_t> checksum_words(const CommitRow&) { return {}; }
  /// Parts of a Sluice file that another program, or a crash, left without a matching checksum, and
  /// that are not damage: one line each.
  virtual std::vector<std::string> unchecked() { return {}; }
  /// The attributes of the file, its groups and variables.
  virtual std::vector<model::Attribute> attributes() { return {}; }

 protected:
  Contents recorded_;  ///< by the last commit
  bool ours_ = false;
  bool has_time_ = false;
  std::uint64_t steps_ = 0;
  std::vector<double> added_times_;
  std::vector<std::string> lacking_;
  std::vector<CommitRow> commits_;
  std::vector<StoredVariable> variables_;
  std::vector<UnreadableDataset> unreadable_;
  std::vector<UnreadableDataset> unread_attributes_;
  std::vector<Growing> growing_;
  bool is_part_ = false;
  std::optional<PartSet> set_;
};

}  // namespace sluice::layout
