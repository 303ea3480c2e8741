// Datatypes as runs of bytes: what MPI's constructors describe, without MPI.
//
// Invariants: runs are in the order of the type map; runs that touch each other in that order are
// merged; no run is empty. Offsets are bytes from the type's origin and may be negative in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::mpiio {

struct Run {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  std::int64_t end() const { return offset + length; }
  friend bool operator==(const Run&, const Run&) = default;
};

/// A datatype: the place of its bytes, and its extent, after which the next one follows.
struct Flat {
  std::vector<Run> runs;
  std::vector<std::int64_t> before;  ///< bytes of the runs before each; by index()
  std::int64_t size = 0;             ///< bytes of all runs
  std::int64_t lower = 0;            ///< lower bound
  std::int64_t extent = 0;
  bool is_marked = false;  ///< its bounds were set, by resizing or as an array's

  /// One run, if copies of it follow without a gap.
  bool is_dense() const { return runs.size() == 1 && runs[0].length == extent; }
  /// The run that holds byte `stream` of the type's data (below size). After index().
  std::size_t run_at(std::int64_t stream) const;
  /// Counts what lies before each run. After the last append.
  void index();

  /// A block of bytes without holes.
  static Flat bytes(std::int64_t count);
  /// Adds `child` displaced by `at`; bounds are not changed.
  void append(const Flat& child, std::int64_t at);
  /// Adds `count` copies of `child`, one after the other by its extent; the bounds enclose theirs,
  /// which may be outside of their bytes. Bounds that were set prevail over others.
  void append_block(const Flat& child, std::int64_t count, std::int64_t at);
  /// Sets the bounds.
  void mark(std::int64_t first, std::int64_t bytes);

 private:
  void enclose(const Flat& child, std::int64_t count, std::int64_t at);
};

/// An array and a part of it: sizes in elements, first dimension slowest (C) or fastest (Fortran).
struct Cut {
  std::vector<std::int64_t> sizes;
  bool is_fortran = false;
  /// Of each dimension: first index and number of indices, ascending.
  std::vector<std::vector<Run>> pieces;
};
/// The elements of `cut` that are in a piece of every dimension; its extent is the whole array.
Flat flat_of_cut(const Flat& element, const Cut& cut);

/// How one dimension of an array is distributed over processes.
struct Dealing {
  enum class Kind : std::uint8_t { none, block, cyclic };
  Kind kind = Kind::none;
  std::int64_t size = 0;       ///< indices
  std::int64_t argument = -1;  ///< of block or cyclic; negative: the default
  std::int64_t processes = 1;
  std::int64_t process = 0;
};
std::vector<Run> pieces_of(const Dealing& dealing);

}  // namespace sluice::mpiio
