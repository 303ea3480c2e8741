// The header of a DCD trajectory, and the addresses of its frames, which are computed. Read and
// written: both byte orders, record markers of 4 or 8 bytes, with and without cell and fourth
// dimension, headers from before CHARMM 22. Fixed atoms are read only.
//
// Invariants: nothing that a header claims becomes memory before it was compared with the length of
// the file; NFILE and NSTEP are within one sector and are all that a commit changes in place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "layout/format.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::dcd {

/// Words of the control record, in CHARMM's numbering from 0.
enum Word : std::size_t {
  frames = 0,
  first_step = 1,
  interval = 2,
  last_step = 3,
  fixed_atoms = 8,
  timestep = 9,  ///< a float32; before CHARMM 22 a float64 in two words
  has_cell = 10,
  has_fourth = 11,
  version = 19,  ///< 0: before CHARMM 22
};
inline constexpr std::size_t control_words = 20;
inline constexpr std::int32_t usual_version = 24;
inline constexpr std::uint64_t title_bytes = 80;
inline constexpr std::uint64_t cell_bytes = 48;

struct Header {
  std::string name = "CORD";  ///< "VELD": the positions are velocities
  std::array<std::int32_t, control_words> control{};
  std::vector<std::string> titles;  ///< of title_bytes each, as they are in the file
  std::uint64_t atoms = 0;
  std::uint64_t marker_bytes = 4;
  bool big_endian = false;
  /// Frames that the file says it has, where it has fewer; `control` has those that are there.
  std::uint64_t counted = 0;
  bool is_cut = false;                    ///< are there bytes of a frame that is not whole?
  std::vector<std::uint32_t> free_atoms;  ///< in files with fixed atoms: the free ones, from 0
  std::uint64_t bytes = 0;                ///< of the header; the first frame starts there

  bool cell() const { return control[version] != 0 && control[has_cell] != 0; }
  bool fourth() const { return control[version] != 0 && control[has_fourth] != 0; }
  double timestep_value() const;
  void set_timestep(double value);
  std::uint64_t axes() const { return fourth() ? 4 : 3; }
  /// Atoms in a frame.
  std::uint64_t atoms_in(std::uint64_t frame) const {
    return frame == 0 || free_atoms.empty() ? atoms : free_atoms.size();
  }
  std::uint64_t record_bytes(std::uint64_t content) const { return 2 * marker_bytes + content; }
  std::uint64_t frame_bytes(std::uint64_t frame) const;
  /// Offset of a frame.
  std::uint64_t frame_offset(std::uint64_t frame) const;
  /// Offsets of the numbers of a frame's cell, and of dimension d (0: x, 3: the fourth).
  std::uint64_t cell_offset(std::uint64_t frame) const {
    return frame_offset(frame) + marker_bytes;
  }
  std::uint64_t axis_offset(std::uint64_t frame, int d) const;
  /// Offset of NFILE.
  std::uint64_t counts_offset() const { return marker_bytes + 4; }
};

/// The control record that current programs write: one frame a step, no cell.
std::array<std::int32_t, control_words> usual_control();

/// Does `file` begin like a trajectory?
bool is_dcd(storage::File& file);
/// Error format if it is not a trajectory, truncated if the header is cut off. The number of frames
/// in `control` follows from the length of the file, if the header has a larger number or none.
Header read_header(storage::File& file);
/// Frames that the header counts, and those of them that are there.
StepCount count_frames(storage::File& file);
/// Makes the header count `count` frames, durably; NSTEP is that of the last one of them.
void set_frame_count(storage::File& file, std::uint64_t count);
/// The bytes of a header without fixed atoms.
std::vector<std::byte> header_bytes(const Header& header);
/// A record marker in the form that the header has.
void put_marker(std::vector<std::byte>& out, const Header& header, std::uint64_t content);
/// The nearest number that a word holds.
std::int32_t in_word(std::int64_t number);
/// NSTEP as it would be without frames. Where it is the largest number, to which a commit limits
/// it, it is worked out from ISTART instead.
std::int64_t step_before(const Header& header);
/// `count` frames, and NSTEP of the last one of them; `before` is that of step_before().
void set_counts(Header& header, std::int64_t before, std::uint64_t count);
/// The words NFILE, ISTART, NSAVC, NSTEP.
std::vector<std::byte> counts_of(const Header& header);

}  // namespace sluice::layout::dcd
