// The data that a rank has put since the last commit: blocks, small parts that are merged into
// blocks, rows by index and rows that follow those of the rank before; and what the ranks agreed on
// when the blocks last changed.
//
// Invariants: everything in it was checked against its variable; the memory of a block that was not
// copied belongs to the caller; nothing is left after forget().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "commit/output/description.hpp"
#include "commit/output/earlier_puts.hpp"
#include "commit/output/joined_puts.hpp"
#include "commit/output/small_puts.hpp"
#include "exec/rows/row_scatter.hpp"
#include "exec/transport/transport.hpp"
#include "model/block.hpp"
#include "sluice/options.hpp"

namespace sluice::commit {

/// How a variable was put in a commit.
struct Touch {
  bool blocks = false;
  bool rows = false;
  bool joined = false;
  bool any() const noexcept { return blocks || rows || joined; }
};

class Puts {
 public:
  /// transport must outlive the object.
  Puts(exec::Transport& transport, std::uint64_t budget_bytes);

  // -- local --------------------------------------------------------------------------------------
  /// Small blocks are copied at once; for others the memory must not change until the commit. With
  /// `must_copy` all are copied: Error over_budget if there is no space.
  void add(const model::Block& block, const model::Definition& definition, const model::Dims& shape,
           bool must_copy);
  void add(const exec::Rows& rows, const model::Definition& definition);
  /// The memory of the rows must stay as it is until the commit.
  void add(const JoinedRows& rows, const model::Definition& definition);
  /// The companions of varying variables, which rank 0 can write alone.
  void add_lengths(const Description& description);
  /// See SmallPuts::next.
  bool next(std::uint32_t variable, const Type& type, bool allow_overflow, const void* data,
            int rank, const std::uint64_t* start, const std::uint64_t* count) noexcept {
    return small_.next(variable, type, allow_overflow, data, rank, start, count);
  }
  /// Turns small parts into blocks.
  void finish() { small_.finish(blocks_); }
  bool empty() const noexcept { return blocks_.empty() && rows_.empty() && joined_.empty(); }
  /// Does anything point to memory of the caller?
  bool holds_memory() const noexcept {
    return blocks_.size() > copied_.blocks || rows_.size() > copied_.rows || !joined_.empty();
  }
  std::span<const model::Block> blocks() const noexcept { return blocks_; }
  std::uint64_t bytes(const std::vector<model::Definition>& definitions) const;
  /// `keeps_memory`: the next rows will need as much.
  void forget(bool keeps_memory) noexcept;
  /// What has been added until now belongs to no step: drop_step() leaves it.
  void begin_step();
  void drop_step() noexcept;
  /// After drop_step(): copies what is left, for the next commit. Error over_budget, without
  /// effect.
  void copy_earlier(const std::vector<model::Definition>& definitions);

  // -- agreeing -----------------------------------------------------------------------------------
  /// Local. Have the blocks changed since the ranks last agreed?
  bool differ(const Description& description);
  bool join() const noexcept { return !joined_.empty(); }
  /// Called on every rank, if copy_earlier() has copied on all: agree() tells what was copied from
  /// what is put later, and drops it where any rank has put the variable anew.
  void keep_copies() noexcept { has_copies_ = true; }
  static constexpr std::size_t most_told = 48;  ///< 16 variables; a message stays a small one
  /// Local. What agree() needs of this rank, into `most_told` zeros that are reduced by maximum
  /// over all ranks before it; nothing where there are more variables, or more ranks that join.
  void tell(const Description& description, std::span<std::int64_t> told) const;
  /// Collective, if those of any rank changed: which variables any rank has put, and where
  /// `any_join`, how many rows the ranks join. `told` is the result of the reduction, if there was
  /// one.
  void agree(const Description& description, bool any_join,
             std::span<const std::int64_t> told = {});
  const std::vector<Touch>& touched() const noexcept { return touched_; }
  /// Of every rank, in order; empty where none was joined.
  const std::vector<std::uint64_t>& joined_rows(std::uint32_t variable) const {
    return joined_.rows_by_rank(variable);
  }
  /// Counts how often they differed; the same on every rank.
  std::uint64_t number() const noexcept { return number_; }

  // -- collective ---------------------------------------------------------------------------------
  /// Turns joined rows into blocks, and rows into blocks of their owners; `description` gets the
  /// rows of joined variables. Errors out_of_bounds, overlap and hole, the same on every rank.
  void place(const std::vector<Touch>& touched, Description& description, Check check);

 private:
  void place_joined(const std::vector<Touch>& touched, Description& description);
  void scatter_rows(const std::vector<Touch>& touched, const Description& description);
  void check_coverage(const std::vector<Touch>& touched, const Description& description,
                      Check check);
  void tell_all(const Description& description, bool any_join, std::span<std::int64_t> told) const;

  std::uint64_t signature_of(const Description& description) const;
  void drop_copies(std::uint32_t variable);

  exec::Transport& transport_;
  std::uint64_t budget_bytes_;
  std::vector<model::Block> blocks_;
  SmallPuts small_;
  std::vector<exec::Rows> rows_;
  /// The first so many.
  struct First {
    std::size_t blocks = 0;
    std::size_t rows = 0;
  };
  First earlier_;  ///< added before the step
  First copied_;   ///< of these: from before a step that failed
  EarlierPuts copies_;
  bool has_copies_ = false;  ///< on any rank
  JoinedPuts joined_;
  exec::RowScatter scatter_;

  std::uint64_t signature_ = 0;          ///< of this rank's, when the ranks last agreed
  std::uint64_t present_signature_ = 0;  ///< of this rank's, in the last call of differ()
  std::uint64_t number_ = 0;
  std::uint64_t checked_number_ = 0;  ///< of those that were checked for overlaps and holes
  std::vector<Touch> touched_;
};

/// Local. `step`: of a commit that adds one. Errors invalid_argument and hole, the same on every
/// rank.
void check_presence(const std::vector<Touch>& touched, const Description& description,
                    std::optional<std::uint64_t> step);
/// Local. A step in which nothing came to a varying variable has no rows of it.
void add_empty(std::vector<Touch>& touched, const Description& description);

}  // namespace sluice::commit
