// Rows by global index, from whichever rank holds them to the owners of their place.
//
// Ranks that stand next to each other on one node share an area of memory that holds the rows all
// of them own, in order of index: each copies its rows from the caller's memory to their places
// there, and an owner finds its share complete. Only rows of other nodes travel, in parcels of
// (index, row bytes). The area is kept from step to step, as large as what these ranks own.
//
// Invariants: nobody places rows before all ranks came to this commit, and so have done with those
// of the last one; every row has a mark, and as many rows as were put are marked if and only if
// none was put twice. Which row is at fault, and whose, is searched only when these counts differ.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exec/rows/rows.hpp"
#include "exec/transport/transport.hpp"
#include "model/block.hpp"
#include "model/definition.hpp"
#include "storage/shared_memory.hpp"

namespace sluice::exec {

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
  std::span<const std::byte> bytes;
};

class RowScatter {
 public:
  /// transport must outlive the object.
  explicit RowScatter(Transport& transport);
  ~RowScatter();
  RowScatter(const RowScatter&) = delete;
  RowScatter& operator=(const RowScatter&) = delete;

  /// Collective. Every rank's rows of one variable to their owners; `rows` may be several calls'
  /// worth. Rows that nobody gave are filled with the fill value where the variable is partial.
  /// The answer's bytes are valid until done(). Errors duplicate_row, missing_row, out_of_bounds,
  /// over_budget: the same on every rank.
  OwnedRows scatter(const model::Definition& definition, std::span<const Rows> rows,
                    std::uint64_t budget_bytes);
  /// The owned rows are not needed any more; the same on every rank. Their memory stays for the
  /// next ones, if it is to be kept.
  void done(bool keeps_memory) noexcept;

 private:
  struct Area;
  struct Cut;

  void meet();
  Cut cut(const model::Definition& definition) const;
  Area& next_area(const Cut& cut, std::uint64_t rows, const std::function<void()>& check_budget);
  OwnedRows carry(const model::Definition& definition, std::span<const Rows> rows,
                  std::uint64_t budget_bytes);

  Transport& transport_;
  bool has_met_ = false;
  int group_first_ = 0;  ///< the ranks that share this one's areas
  int group_end_ = 0;
  std::unique_ptr<Transport> group_;  ///< of them; null where they are all, or only this one
  std::deque<Area> areas_;            ///< one for each variable of a commit
  std::size_t used_ = 0;
};

}  // namespace sluice::exec
