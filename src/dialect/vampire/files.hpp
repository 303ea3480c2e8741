// The data files of a snapshot: found and measured on rank 0, then read in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::dialect::vampire {

/// Which of the two kinds of rows a file holds.
enum class Kind : std::uint8_t {
  spins,        ///< text: x y z; binary: double[3n]
  coordinates,  ///< text: type category x y z; binary: int32[n], int32[n], double[3n]
};

/// A binary file begins with the number of its rows; then each row takes this many bytes.
inline constexpr std::uint64_t count_bytes = 8;
constexpr std::uint64_t row_bytes(Kind kind) { return kind == Kind::spins ? 24 : 32; }
/// Where row `row` is in a binary file of spins.
constexpr std::uint64_t spin_offset(std::uint64_t row) {
  return count_bytes + row_bytes(Kind::spins) * row;
}
/// The same in one of coordinates, which has `rows` rows and is written column by column.
constexpr std::uint64_t type_offset(std::uint64_t row) {
  return count_bytes + sizeof(std::int32_t) * row;
}
constexpr std::uint64_t category_offset(std::uint64_t rows, std::uint64_t row) {
  return type_offset(rows) + sizeof(std::int32_t) * row;
}
constexpr std::uint64_t position_offset(std::uint64_t rows, std::uint64_t row) {
  return category_offset(rows, rows) + 3 * sizeof(double) * row;
}

/// One data file of a set; its rows are [first_row, first_row + rows) of the snapshot.
struct DataFile {
  std::string path;
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  ///< its size when it was opened
  std::uint64_t begin = 0;  ///< of the count before the rows: behind a header, where it has one
};

/// The data files of one kind.
struct FileSet {
  bool text = false;
  bool has_elements = false;  ///< a chemical symbol ends each row (legacy coordinates)
  std::vector<DataFile> files;
};

/// A part of the atoms.
struct Coordinates {
  std::vector<std::int32_t> material;
  std::vector<std::int32_t> category;
  std::vector<double> xyz;  ///< three an atom, Angstrom
};

/// What a meta file listed, and where.
struct Listed {
  Kind kind = Kind::spins;
  std::string folder;
  std::string meta;    ///< name of the meta file
  std::string single;  ///< name of the one data file of a run that does not number them
  std::vector<std::string> names;
  bool says_binary = false;
  bool says_text = false;
};

/// Finds the files, determines whether they are text or binary, and checks their counts against
/// their sizes and their sum against `atoms`. Appends to `notes`. Local (rank 0).
FileSet resolve(storage::Storage& storage, const Listed& listed, std::uint64_t atoms,
                std::vector<std::string>& notes);

/// Text files without a meta: the first begins with a header of this many bytes. Local (rank 0).
FileSet resolve_legacy(storage::Storage& storage, const std::string& folder,
                       const std::vector<std::string>& names, std::uint64_t header_bytes, Kind kind,
                       std::uint64_t atoms);

/// Chemical symbols of materials 0, 1, ..., at the ends of the rows; "" if no atom is of one. Reads
/// all rows. Collective.
std::vector<std::string> elements_of(exec::Transport& transport, storage::Storage& storage,
                                     const FileSet& set);

/// The first bytes of a file, at most max_header_bytes. Local.
inline constexpr std::uint64_t max_header_bytes = 16ULL << 20;
std::string read_header(storage::Storage& storage, const std::string& path);

/// The content of a small file. Error format above 64 MiB. Local.
std::string read_small(storage::Storage& storage, const std::string& path);

/// Rows [first, first + count) of text files, `columns` numbers each. Every rank parses its share
/// of the bytes, and the rows are then sent to the ranks that requested them. Collective.
std::vector<double> read_text_rows(exec::Transport& transport, storage::Storage& storage,
                                   const FileSet& set, int columns, std::uint64_t first,
                                   std::uint64_t count);

/// Rows of binary files. Local.
void read_binary_spins(storage::Storage& storage, const FileSet& set, std::uint64_t first,
                       std::uint64_t count, std::vector<double>& spins);
void read_binary_coordinates(storage::Storage& storage, const FileSet& set, std::uint64_t first,
                             std::uint64_t count, Coordinates& atoms);

}  // namespace sluice::dialect::vampire
