// The header of an .npy file: numpy's format 1.0 (written), 1.0 to 3.0 (read).
//
// Invariants: a written header takes header_bytes, so that data starts at a page boundary and
// direct writes are aligned; the first extent of an array of steps is in a field of fixed width,
// which never moves: a commit changes that field alone. The field also distinguishes such a file
// from an array that does not grow; every reader of Python's tuples skips its spaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "layout/format.hpp"
#include "model/dims.hpp"
#include "sluice/types.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::npy {

inline constexpr std::uint64_t header_bytes = 4096;
/// Digits of the largest 64-bit number.
inline constexpr std::size_t field_width = 20;

struct Header {
  Type type;
  bool big_endian = false;
  bool fortran_order = false;
  bool growing = false;                ///< the first extent counts steps
  std::vector<std::uint64_t> extents;  ///< the steps first where growing
  std::uint64_t data_offset = header_bytes;
};

/// Does `file` begin like a file of numpy?
bool is_npy(storage::File& file);
/// Error format if it is not an array, unsupported for types that Sluice does not have (objects,
/// records, dates, long doubles), truncated if the header or the data is cut off.
Header read_header(storage::File& file);
/// The steps of an array that Sluice wrote, by its header and by the length of the file; 0 and 0 if
/// it is not a growing array of Sluice.
StepCount count_steps(storage::File& file);
/// Writes the count of steps, and syncs it.
void set_step_count(storage::File& file, std::uint64_t steps);
/// Offset of the field of a growing array.
std::uint64_t field_offset(const Header& header);
/// The bytes of a header. Error unsupported if the type has no name in numpy.
std::vector<std::byte> header_text(const Header& header);

}  // namespace sluice::layout::npy
