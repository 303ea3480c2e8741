// Rows by global index, of variables with addresses, of parts and of compressed ones.
//
// Invariants: those of SelectionReader: which collective calls follow depends only on what every
// rank knows alike, and every rank throws the same error.
#pragma once

#include <cstdint>
#include <exception>
#include <span>

#include "commit/read/checked_reader.hpp"
#include "commit/read/file_input.hpp"
#include "commit/read/locator.hpp"

namespace sluice::exec {
struct RowSource;
}

namespace sluice::commit {

class PartsInput;

/// Rows of a variable by their numbers, into dense memory of `type`.
struct RowsRequest {
  std::uint32_t variable = 0;
  std::uint64_t step = 0;
  std::span<const std::uint64_t> ids;
  std::byte* data = nullptr;
  Type type;
};

class RowReader {
 public:
  /// All must outlive the object.
  /// `parts`: of the index of a set of parts; else null.
  RowReader(const FileInput& file, PartsInput* parts, Locator& locator, CheckedReader& checked)
      : file_(file), parts_(parts), locator_(locator), checked_(checked) {}

  /// Local. Throws what is wrong with a request.
  void check(const RowsRequest& request) const;
  /// Collective; each rank its own ids. `failure`: an error of this rank, which every rank then
  /// throws.
  void get_rows(const RowsRequest& request, std::exception_ptr failure);

 private:
  /// Collective. `which`: all rows.
  void read_rows(const RowsRequest& request, const Wanted& which);
  /// How rows are read from tiles, which must outlive the result.
  void read_encoded_rows(const Located& located, exec::RowSource& source);
  /// Local. A tile as it is in memory, checked where `piece` is.
  void decode(const Located& located, const layout::Piece& piece, layout::TileDecoder& decoder,
              std::span<std::byte> dense);

  const FileInput& file_;
  PartsInput* const parts_;
  Locator& locator_;
  CheckedReader& checked_;
};

}  // namespace sluice::commit
