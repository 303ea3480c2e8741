// What every rank knows of a file that is being read.
//
// Invariants: a value, the same on every rank except for the effect of keep_order_of(); created on
// rank 0 (RootCatalog), and received by the others; the number of a variable is its index here,
// which after a refresh may differ from that of the catalog.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "codec/filter.hpp"
#include "layout/catalog.hpp"
#include "model/bytes.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

/// What every rank knows of a stored variable.
struct InputVariable {
  model::Definition definition;
  bool big_endian = false;
  bool placeable = false;
  codec::Pipeline filters = {};          ///< of compressed variables that every rank can decode
  std::vector<std::uint64_t> rows = {};  ///< varying: of every step; empty otherwise
  std::uint32_t catalog_index = 0;       ///< in the catalog with which the file was opened
  /// For a variable whose elements are in parts: its number in the set.
  std::optional<std::uint32_t> number_in_set = std::nullopt;

  /// How it is read: by addresses, by decoding tiles, from parts, or by rank 0 through the library
  /// of its format.
  bool has_addresses() const { return !number_in_set && filters.empty() && placeable; }
  bool is_encoded() const { return !number_in_set && !filters.empty(); }
};

/// A commit of the file, as far as verifying needs it.
struct CommitInfo {
  std::uint64_t step = 0;  ///< CommitRow::no_step outside steps
  double time = 0;
  std::uint64_t is_intact = 1;  ///< 0: its row does not match its checksum
};

class FileView {
 public:
  /// The properties of a file except its times, which follow from the commits and the added ones.
  struct Contents {
    std::string path;
    bool is_unfinished = false;
    bool is_modified = false;
    bool is_ours = false;
    bool has_names = true;  ///< does the format keep them?
    bool has_time = false;
    std::uint64_t steps = 0;
    std::vector<CommitInfo> commits;
    std::vector<double> added_times;  ///< Catalog::added_times()
    std::vector<InputVariable> variables;
    std::vector<layout::UnreadableDataset> unreadable;
    std::vector<model::Attribute> attributes;

    void write_to(model::ByteWriter& out) const;
    static Contents read_from(model::ByteReader& in);
  };

  FileView() = default;
  explicit FileView(Contents contents);

  const Contents& contents() const noexcept { return contents_; }
  const std::vector<InputVariable>& variables() const noexcept { return contents_.variables; }
  const InputVariable& operator[](std::uint32_t variable) const { return variables()[variable]; }
  /// The times of the steps, from step 0 on; NaN if none was given.
  const std::vector<double>& times() const noexcept { return times_; }
  /// As Input has them.
  double time(std::uint64_t step) const;
  model::Dims shape(std::uint32_t variable, std::uint64_t step) const;
  model::Dims shape_or_most(std::uint32_t variable, std::uint64_t step) const noexcept;
  /// Error not_found, also for a dataset that Sluice does not read.
  std::uint32_t find(const std::string& name) const;
  /// The attributes of an owner, as indices into those of contents().
  const std::vector<std::size_t>& attributes_of(const std::string& owner) const;
  void keep_order_of(const FileView& old);
  /// The file, the variable and the step, for messages.
  std::string name_of(std::uint32_t variable, std::uint64_t step) const;

  void set_number_in_set(std::uint32_t variable, std::uint32_t number);
  void set_rows(std::uint32_t variable, std::vector<std::uint64_t> rows);

 private:
  void index_names();

  Contents contents_;
  std::vector<double> times_;
  std::map<std::string, std::uint32_t> by_name_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_owner_;  ///< attributes
};

}  // namespace sluice::commit
