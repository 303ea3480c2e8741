/// @file
/// Errors of the library: one exception type, sluice::Error, with a pinned sluice::Code.
///
/// The number of a code never changes its meaning and is never reused. An error on one rank
/// inside a collective call is thrown on every rank of that call, with the same code and the same
/// text, which names that rank.
#pragma once

#if __cplusplus < 202002L
#error "the C++ interface of Sluice needs C++20: compile with -std=c++20"
#endif

#include <stdexcept>
#include <string>
#include <utility>

namespace sluice {

/// Why a call failed. The numbers are those of SLUICE_ERROR_... in sluice.h.
enum class Code : int {
  ok = 0,  ///< No failure.
  // what the caller asked for
  invalid_argument = 10,  ///< A value outside its documented range.
  out_of_bounds = 11,     ///< A block or selection outside the shape of its variable.
  overlap = 12,           ///< Two blocks, of one rank or of two, cover the same element.
  hole = 13,              ///< Elements of a variable that is not `partial` were not written.
  duplicate_row = 14,     ///< put_rows: a row id was given twice.
  missing_row = 15,       ///< put_rows: no rank gave a row id.
  type_mismatch = 16,     ///< There is no conversion between memory type and file type.
  overflow = 17,          ///< A value does not fit the narrower type.
  bad_name = 18,          ///< A name is empty, absolute, or has `..` or NUL in it.
  wrong_state = 19,       ///< A closed handle, a put outside a step, a second close, ...
  // what was found in the file system
  not_found = 20,        ///< There is no such file, variable or attribute.
  exists = 21,           ///< The file, or another variable of that name, exists.
  permission = 22,       ///< The operating system denies access.
  io = 23,               ///< The operating system refused; the message has the text of errno.
  no_space = 24,         ///< The disk or the quota is full.
  truncated = 25,        ///< The file is shorter than its metadata says.
  format = 26,           ///< The file is not of the format that it should be.
  version = 27,          ///< The file was written by a newer major version of the format.
  damaged = 28,          ///< A checksum does not match.
  changed_outside = 29,  ///< Another program changed the file since the library wrote it.
  unsupported = 30,      ///< The format, the file system or this build cannot do it.
  locked = 31,           ///< Another process writes the file.
  // what happened between ranks
  timeout = 40,      ///< A rank did not come within Options::timeout_s.
  divergent = 41,    ///< Ranks called a collective with different arguments.
  over_budget = 42,  ///< What has to be held at once exceeds Options::budget_bytes.
  mpi = 43,          ///< MPI failed, or the process has no MPI that fits.
  internal = 50,     ///< A broken invariant of the library itself; please report it.
};

/// The name of a code as it stands in messages, such as `out_of_bounds`. Static storage. Local.
const char* code_name(Code code) noexcept;

/// What every failing call of the C++ interface throws. what() is one line:
/// `sluice: rank R: FILE: what failed: why: remedy`, with the parts that are known.
class Error : public std::runtime_error {
 public:
  /// An error of unknown rank.
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  /// An error on `rank`.
  Error(Code code, const std::string& message, int rank)
      : std::runtime_error(message), code_(code), rank_(rank) {}

  /// Why the call failed.
  Code code() const noexcept { return code_; }
  /// The rank on which the error occurred first; -1 if it is unknown.
  int rank() const noexcept { return rank_; }

 private:
  Code code_;
  int rank_ = -1;
};

}  // namespace sluice
