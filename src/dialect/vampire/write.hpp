// Snapshots in VAMPIRE's own formats, written in parallel: every mode, text and binary.
//
// Rows are numbered across the ranks in their order; that number is an atom's global id, and the
// same for coordinates and spins. How the pitfalls of the format are avoided:
//   * a meta lists exactly the files that exist and says what is in them;
//   * files of an older run are replaced, never written into; its meta goes first;
//   * G groups of P ranks are G files, whatever G and P (rank r is in group r * G / P);
//   * counts are 64-bit; no rank gathers more than 4 MiB at a time.
//
// Invariants: a meta is written when all of its data files are complete, so a reader that finds it
// finds them; in text and binary, and in every mode, the bytes depend on the rows of each file
// alone, not on who wrote them. An error of one rank is thrown on every rank.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dialect/vampire/snapshot.hpp"

namespace sluice::dialect::vampire {

enum class Mode : std::uint8_t {
  file_per_process,  ///< every rank its own file
  mpi_io,            ///< one file, every rank writes its rows into it
  file_per_node,     ///< a file for every group of ranks; the last rank of a group writes it
  legacy,            ///< a text .cfg a rank, the first one with the header
};

/// "file-per-process", "mpi-io", "file-per-node", "legacy". Error invalid_argument otherwise.
Mode mode_of(const std::string& name);
const char* mode_name(Mode mode);

struct WriteOptions {
  Mode mode = Mode::file_per_node;
  bool text = false;    ///< legacy is always text
  int nodes = 1;        ///< file_per_node: files; clamped to the number of ranks
  bool durable = true;  ///< everything is synced: before the meta is written, where there is one
  /// If not empty: the number of rows in each file, whichever rank has them (their sum is that of
  /// all rows). Every rank then writes its own rows.
  std::vector<std::uint64_t> rows_of_file = {};
  std::array<double, 3> box_angstrom{};  ///< legacy: "System dimensions"
};

/// The cost of one snapshot, the same on every rank.
struct WriteCost {
  std::uint64_t bytes = 0;   ///< of data files
  double write_seconds = 0;  ///< inside write calls, of the slowest rank
  double sync_seconds = 0;   ///< inside sync calls, of the slowest rank
  double all_seconds = 0;    ///< formatting, gathering and metas too
};

struct Extent;
struct FilePart;

class SnapshotWriter {
 public:
  /// This rank will pass `rows` rows every time. transport must outlive the object. Collective.
  /// Error format: a text of a material would end its column or line.
  SnapshotWriter(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                 const std::string& folder, std::vector<Material> materials, std::uint64_t rows,
                 WriteOptions options);

  /// For this rank's rows; once, before the first spins. Collective. Error invalid_argument if the
  /// lengths differ from the number of rows.
  WriteCost write_coordinates(const Coordinates& atoms);
  /// Three for each atom. meta.files is filled in here. Collective.
  WriteCost write_spins(std::uint32_t index, SpinsMeta meta, std::span<const double> spins);

  std::uint64_t atoms() const noexcept { return atoms_; }
  /// Rows of each file.
  const std::vector<std::uint64_t>& rows_of_file() const noexcept { return rows_of_file_; }

 private:
  friend WriteCost write_non_magnetic(exec::Transport&, std::shared_ptr<storage::Storage>,
                                      const std::string&, const Coordinates&, WriteOptions);
  struct Rows;
  std::string name(const std::string& stem, std::size_t file) const;
  std::vector<std::string> names(const std::string& stem) const;
  std::string element_of(std::int32_t type) const;
  /// `spins`: nullptr in front of coordinates.
  std::string legacy_header(const std::string& stem, const SpinsMeta* spins) const;
  std::string head(const Rows& rows, std::size_t file) const;
  /// On rank 0; nullptr: removes it. Collective.
  void replace_meta(const std::string& name, const std::string* text);
  void text_extents(const Rows& rows, const std::vector<FilePart>& parts,
                    std::vector<std::string>& texts, std::vector<Extent>& extents);
  WriteCost write_rows(const Rows& rows);
  WriteCost write_atoms(const std::string& stem, const Coordinates& atoms);

  exec::Transport& transport_;
  std::shared_ptr<storage::Storage> storage_;
  std::string folder_;
  std::vector<Material> materials_;
  WriteOptions options_;
  std::uint64_t rows_;       ///< of this rank
  std::uint64_t first_ = 0;  ///< the first of them
  std::uint64_t atoms_ = 0;
  bool is_assigned_ = false;  ///< the caller said which rows are in which file
  std::vector<std::uint64_t> rows_of_file_;
};

/// Atoms without spin, beside the others, split over files in the same way. Each rank passes its
/// own, possibly none. Collective.
WriteCost write_non_magnetic(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                             const std::string& folder, const Coordinates& atoms,
                             WriteOptions options);

}  // namespace sluice::dialect::vampire
