// Rows by global index: from whichever rank holds them to the owners of their place, and back.
//
// Owner of a row: rank r owns rows [N*r/P, N*(r+1)/P). Memory on a rank is its own rows once more
// (to send) and the rows that it owns; both are held to the budget by the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exec/transport.hpp"
#include "model/block.hpp"
#include "model/definition.hpp"

namespace sluice::exec {

struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};
RowRange owned_rows(std::uint64_t rows, int rank, int ranks);
int owner_of_row(std::uint64_t row, std::uint64_t rows, int ranks);

/// Rows as a rank puts them: row i of `data` has index ids[i]. Not owned.
struct Rows {
  std::uint32_t variable = 0;
  std::span<const std::uint64_t> ids;
  const std::byte* data = nullptr;
  Type type;
};

/// Rows that this rank owns after the exchange, dense file bytes, in order of index.
struct OwnedRows {
  model::Box box;
  std::vector<std::byte> bytes;
};

/// Collective. Every rank's rows of one variable to their owners; `rows` may be several calls'
/// worth. Rows that nobody gave are filled with the fill value where the variable is partial.
/// Errors duplicate_row, missing_row, out_of_bounds, over_budget: the same on every rank.
OwnedRows scatter_rows(Transport& transport, const model::Definition& definition,
                       std::span<const Rows> rows, std::uint64_t budget_bytes);

/// Where rows come from that are asked for by index.
struct RowSource {
  std::string name;  ///< of the variable, in messages
  std::uint64_t rows = 0;
  std::size_t row_bytes = 0;
  /// So many rows, from a multiple of this on, are read by one rank and in one go.
  std::uint64_t rows_together = 1;
  /// `read(first, count, out)` reads dense rows, on the rank that owns them.
  std::function<void(std::uint64_t, std::uint64_t, std::span<std::byte>)> read;
};

/// The reverse: rows by index to whoever asks. Every row is read once, however many ask for it.
/// Collective. The answer holds the file bytes of each of `ids` in order. Errors out_of_bounds and
/// those of read, agreed.
std::vector<std::byte> fetch_rows(Transport& transport, const RowSource& source,
                                  std::span<const std::uint64_t> ids);

}  // namespace sluice::exec
