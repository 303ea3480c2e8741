// Rows by global index, sent from the rank that has them to the owners of their place.
//
// Neighbouring ranks on one node share memory that holds the rows which all of them own, in order
// of index: each copies its rows from the caller's memory to their slots there, and an owner finds
// its share complete. Only rows for other nodes are sent, in parcels of (index, row bytes). The
// memory is kept from step to step.
//
// Invariants: no rank places rows before all ranks have entered this commit, and so are done with
// the rows of the last one; every row has a mark, and the number of marked rows equals the number
// of rows put if and only if none was put twice. Which row is at fault, and who put it, is searched
// only if these counts differ.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exec/rows/rows.hpp"
#include "exec/transport/given_up.hpp"
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

/// The rows that this rank owns after the exchange, dense file bytes, in order of index.
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

  /// Collective. Sends every rank's rows of one variable to their owners; `rows` may come from
  /// several calls. Rows that no rank put get the fill value if the variable is partial. The
  /// returned bytes are valid until done(). Errors duplicate_row, missing_row, out_of_bounds,
  /// over_budget: the same on every rank.
  OwnedRows scatter(const model::Definition& definition, std::span<const Rows> rows,
                    std::uint64_t budget_bytes);
  /// The owned rows are not needed any more; called on every rank. The memory is kept for the next
  /// rows if that is requested.
  void done(bool keeps_memory) noexcept;

 private:
  struct Area;
  struct Cut;

  void meet();
  Cut cut(const model::Definition& definition) const;
  Area& next_area(const Cut& cut, std::uint64_t rows, const std::function<void()>& check_budget);
  void drop_areas() noexcept;
  OwnedRows carry(const model::Definition& definition, std::span<const Rows> rows,
                  std::uint64_t budget_bytes);

  Transport& transport_;
  bool has_met_ = false;
  int group_first_ = 0;  ///< the ranks that share this rank's memory
  int group_end_ = 0;
  std::unique_ptr<Transport> group_;  ///< of them; null if they are all ranks, or only this one
  std::deque<Area> areas_;            ///< one for each variable of a commit
  std::size_t used_ = 0;
  MessageMark mark_;  ///< of when there were no areas last: the owned rows are sent from there
};

}  // namespace sluice::exec
