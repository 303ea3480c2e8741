// A set of files that form one: its parts, and which elements of the whole are in which part. Pure
// data, the same for every format; an index file stores it as words.
//
// Invariants: a part is an ordinary file of its format with its own log and checksums, in which a
// commit adds one row to every stepped dataset; the set records which row holds which step. A
// mapping covers consecutive steps in consecutive rows. Part paths are relative to the folder of
// the index, without `..`, or absolute (scratch folders).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/box.hpp"
#include "model/definition.hpp"

namespace sluice::layout {

/// A file of the set, as far as the index knows it. It may contain more: a step that failed
/// elsewhere, or one whose index is not written yet.
struct Part {
  std::string path;
  std::uint64_t id = 0;       ///< random; the part contains it too
  std::uint64_t commits = 0;  ///< rows of its log
  std::int64_t stamp_ns = 0;  ///< of the last of these rows
  std::uint64_t bytes = 0;    ///< its length after that commit
  friend bool operator==(const Part&, const Part&) = default;
};

/// A box of a variable, over some steps, and its location in a part.
struct Mapping {
  std::uint32_t variable = 0;
  std::uint32_t part = 0;
  std::uint32_t dataset = 0;     ///< name in the part, as an index into PartSet::datasets
  bool listed = false;           ///< the dataset is one-dimensional: the box's elements in sequence
  std::uint64_t first_step = 0;  ///< 0 for fixed variables
  std::uint64_t steps = 1;
  std::uint64_t first_row = 0;  ///< of the dataset; 0 for fixed variables
  std::uint64_t offset = 0;     ///< listed: of the first element; else the box is at the origin
  model::Box box;

  bool holds(std::uint64_t step) const { return step >= first_step && step - first_step < steps; }
  friend bool operator==(const Mapping&, const Mapping&) = default;
};

struct SetVariable {
  std::string name;
  bool stepped = false;
  /// As in Definition: the index has no filters of its own, and a further part needs them.
  std::string compress = {};
};

struct PartSet {
  std::uint64_t id = 0;  ///< random; every part contains it too
  std::string strategy;  ///< that made it, for later appends
  std::vector<SetVariable> variables;
  std::vector<std::string> datasets;
  std::vector<Part> parts;
  std::vector<Mapping> mappings;
  /// For dataset_number(): by name, of the first so many.
  std::unordered_map<std::string, std::uint32_t> numbers;
  std::size_t numbered = 0;

  /// The number of a dataset name, which is added if it is new.
  std::uint32_t dataset_number(const std::string& name);

  /// Is it a variable of the set?
  bool has(const std::string& name) const;
  /// Removes variables of these names, with their mappings.
  void leave(const std::vector<std::string>& names);

  /// As 64-bit words that end in their checksum, and back: Error damaged, naming `path`, if they
  /// were not made by words().
  std::vector<std::uint64_t> words() const;
  static PartSet from_words(std::span<const std::uint64_t> words, const std::string& path);
};

/// Of all parts, without the index.
std::uint64_t bytes_of(const PartSet& set);

/// The path by which a part is opened if the index is opened as `index_path`. Error bad_name if it
/// would leave the folder of the index.
std::string part_path(const std::string& index_path, const std::string& part);
/// How an index refers to a part: relative if the part is below the folder of the index.
std::string name_in_index(const std::string& index_path, const std::string& part);

}  // namespace sluice::layout
