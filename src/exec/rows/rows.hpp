// Rows by global index: who owns them, and how they are fetched from their owners.
//
// Owner of a row: rank r owns rows [N*r/P, N*(r+1)/P).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exec/transport/transport.hpp"
#include "model/box.hpp"

namespace sluice::exec {

struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};
RowRange owned_rows(std::uint64_t rows, int rank, int ranks);
/// The same as a part of an array; of a scalar, which has no rows, all of it on every rank.
model::Box owned_box(const model::Dims& shape, int rank, int ranks);

/// Who owns a row, without a division for each row.
class RowOwners {
 public:
  RowOwners(std::uint64_t rows, int ranks);
  /// `row` is less than rows.
  int of(std::uint64_t row) const noexcept {
    // The guess is off by a few at most; shares are monotonic in the rank.
    auto rank = std::min(static_cast<std::size_t>(static_cast<double>(row) * ranks_a_row_),
                         firsts_.size() - 2);
    while (row < firsts_[rank]) {
      --rank;
    }
    while (row >= firsts_[rank + 1]) {
      ++rank;
    }
    return static_cast<int>(rank);
  }

 private:
  std::vector<std::uint64_t> firsts_;  ///< by rank, and the end
  double ranks_a_row_ = 0;
};

/// Called with each run of requested rows, as (first, count, out): where their bytes go.
using RowRuns =
    std::function<void(const std::function<void(std::uint64_t, std::uint64_t, std::byte*)>&)>;

/// The source of rows that are read by index.
struct RowSource {
  std::string name;  ///< name of the variable, for messages
  std::uint64_t rows = 0;
  std::size_t row_bytes = 0;
  /// This many rows, aligned to a multiple of this, are one rank's.
  std::uint64_t rows_together = 1;
  /// `read(first, count, out)` reads dense rows, on the rank that owns them.
  std::function<void(std::uint64_t, std::uint64_t, std::span<std::byte>)> read = {};
  /// Set instead of `read` for rows in tiles that are costly to read, `tile_rows` high:
  /// `put(first, count, runs)` fills the runs that are requested of rows of one row of tiles.
  std::function<void(std::uint64_t, std::uint64_t, const RowRuns&)> put = {};
  std::uint64_t tile_rows = 1;
};

/// Sends rows by index to the ranks that request them. Every row is read once, however many ranks
/// request it. Collective. The result holds the file bytes of each of `ids` in order. Errors
/// out_of_bounds and those of read, agreed.
std::vector<std::byte> fetch_rows(Transport& transport, const RowSource& source,
                                  std::span<const std::uint64_t> ids);

}  // namespace sluice::exec
