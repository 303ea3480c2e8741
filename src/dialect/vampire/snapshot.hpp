// Snapshots of the VAMPIRE code, read in parallel: atoms once, spins for every snapshot.
//
// All output modes of VAMPIRE are read, whatever the number of ranks that wrote them: one file a
// process, one file a node, one file through MPI-IO, as binary or as text, and the legacy mode with
// a .cfg a process. Rows are numbered across
// the files in the order in which the meta file lists them; that number is an atom's global id.
// How the pitfalls of the format are handled:
//   * text or binary is seen from the data itself, because the meta of mpi-io mode may be wrong;
//   * listed files that do not exist are accepted only where the others, or the one file without
//     index, hold every atom; notes() then says so;
//   * binary files may be longer than their count says (VAMPIRE does not truncate an old file);
//   * a number may be missing among the snapshots: the others are read, and notes() names it.
//
// Invariants: rank 0 alone opens and checks metas and sizes, and sends the result to all; no memory
// is allocated for a count that was not first checked against the size of a real file; an error of
// one rank is thrown on every rank, with the same text.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dialect/vampire/files.hpp"
#include "dialect/vampire/meta.hpp"
#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::dialect::vampire {

/// One snapshot of the spins.
struct Frame {
  std::uint32_t index = 0;
  SpinsMeta meta;
  FileSet data;
  std::vector<std::string> notes;  ///< deviations that were accepted
};

class Snapshot {
 public:
  std::uint64_t atoms() const noexcept { return atoms_; }
  const std::vector<Material>& materials() const noexcept { return materials_; }
  /// The numbers of the existing snapshots of spins, ascending.
  const std::vector<std::uint32_t>& frames() const noexcept { return frames_; }
  /// One line for each deviation that was accepted.
  const std::vector<std::string>& notes() const noexcept { return notes_; }

  /// Opens the snapshot of number `index`. Collective. Error not_found, truncated, format,
  /// bad_name, io.
  Frame frame(std::uint32_t index);
  /// Rows of each coordinates file, in their order.
  std::vector<std::uint64_t> rows_of_file() const;
  bool text() const noexcept { return coordinates_.text; }
  bool legacy() const noexcept { return coordinates_.has_elements; }
  /// Atoms without spin, which have numbers of their own.
  std::uint64_t non_magnetic_atoms() const noexcept { return non_magnetic_atoms_; }

  /// Atoms [first, first + count), each rank its own range. Collective.
  Coordinates read_coordinates(std::uint64_t first, std::uint64_t count);
  Coordinates read_non_magnetic(std::uint64_t first, std::uint64_t count);
  /// Spins of atoms [first, first + count), three each. Collective. Bit for bit as in the files.
  std::vector<double> read_spins(const Frame& frame, std::uint64_t first, std::uint64_t count);

 private:
  friend Snapshot open(exec::Transport&, std::shared_ptr<storage::Storage>, const std::string&);
  Snapshot(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
           const std::string& folder)
      : transport_(&transport), storage_(std::move(storage)), folder_(folder) {}

  exec::Transport* transport_;
  std::shared_ptr<storage::Storage> storage_;
  std::string folder_;
  std::uint64_t atoms_ = 0;
  std::vector<std::uint32_t> frames_;
  std::vector<Material> materials_;
  Coordinates read_rows(const FileSet& set, std::uint64_t all, std::uint64_t first,
                        std::uint64_t count);
  void find_modern(storage::Storage& door);
  void find_legacy(storage::Storage& door);
  void find_non_magnetic(storage::Storage& door);
  void find_frames(storage::Storage& door, bool is_legacy);
  void resolve_frame(std::uint32_t index, Frame& frame);

  FileSet coordinates_;
  FileSet non_magnetic_;
  std::uint64_t non_magnetic_atoms_ = 0;
  std::vector<std::string> notes_;
};

/// Opens a folder of snapshots. Collective; the transport must outlive the result.
Snapshot open(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
              const std::string& folder);

/// Rank `rank`'s share of `rows`: [rows * rank / ranks, rows * (rank + 1) / ranks).
std::array<std::uint64_t, 2> share(std::uint64_t rows, int rank, int ranks);

/// "0, 2 to 5": ascending numbers as text, at most twenty ranges of them.
std::string numbers_text(const std::vector<std::uint32_t>& numbers);

}  // namespace sluice::dialect::vampire
