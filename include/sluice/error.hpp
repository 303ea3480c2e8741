// Errors of the library: one exception type with a pinned code.
//
// Invariants: a code's number never changes meaning and is never reused; new codes are added in the
// gaps. An error that one rank meets inside a collective call is raised on every rank of that call
// with the same code and the same text, which names the rank that met it.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace sluice {

enum class Code : int {
  ok = 0,
  // what the caller asked for
  invalid_argument = 10,  ///< a value outside its documented range
  out_of_bounds = 11,     ///< a block or selection outside the shape of its variable
  overlap = 12,           ///< two ranks, or two blocks, cover the same element
  hole = 13,              ///< elements of a variable that is not `partial` were not written
  duplicate_row = 14,     ///< put_rows: a row id given twice
  missing_row = 15,       ///< put_rows: a row id that nobody gave
  type_mismatch = 16,     ///< no conversion between memory type and file type
  overflow = 17,          ///< a value does not fit the narrower type
  bad_name = 18,          ///< a name with `..`, NUL, an absolute path, or empty
  wrong_state = 19,       ///< closed handle, put outside a step, double close, ...
  // what was found in the file system
  not_found = 20,
  exists = 21,
  permission = 22,
  io = 23,        ///< the operating system refused; the message carries errno in words
  no_space = 24,  ///< disk or quota full
  truncated = 25,
  format = 26,   ///< not the format it should be
  version = 27,  ///< written by a newer major version of the format
  damaged = 28,  ///< a checksum does not match
  changed_outside = 29,
  unsupported = 30,
  locked = 31,  ///< another process holds the writer lease
  // what happened between ranks
  timeout = 40,
  divergent = 41,    ///< ranks called a collective with different arguments
  over_budget = 42,  ///< one item alone exceeds the staging budget
  mpi = 43,
  internal = 50,  ///< a broken invariant of the library itself
};

/// The name of a code as it stands in messages, e.g. "out_of_bounds".
const char* code_name(Code code) noexcept;

/// What every failing call of the C++ interface throws. what() is one clear line:
/// `sluice: rank R: FILE: what failed: why: remedy` (the parts that are known).
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Error(Code code, const std::string& message, int rank)
      : std::runtime_error(message), code_(code), rank_(rank) {}

  Code code() const noexcept { return code_; }
  /// The rank that met the error first, -1 where it is not known.
  int rank() const noexcept { return rank_; }

 private:
  Code code_;
  int rank_ = -1;
};

}  // namespace sluice
