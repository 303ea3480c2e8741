// What was put before a step that failed. It is of no step and waits for the next commit; its
// memory is copied, because that of the caller may change once the call has returned.
//
// Invariants: it is at most the budget; blocks and rows point to memory of the object until
// forget().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/rows/row_scatter.hpp"
#include "exec/transport/given_up.hpp"
#include "model/block.hpp"
#include "model/definition.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

class EarlierPuts {
 public:
  explicit EarlierPuts(std::uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}
  EarlierPuts(const EarlierPuts&) = delete;
  EarlierPuts& operator=(const EarlierPuts&) = delete;
  ~EarlierPuts() { forget(); }

  /// Copies what these point to, and lets them point to the copies. Error over_budget, without
  /// effect.
  void add(std::span<model::Block> blocks, std::span<exec::Rows> rows,
           const std::vector<model::Definition>& definitions);
  void forget() noexcept;

 private:
  std::uint64_t budget_bytes_;
  std::uint64_t held_bytes_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  exec::MessageMark mark_;  ///< of when there was none last
};

/// `error` of a step: what was put before it is not kept.
Error lost_with_step(const Error& error);
/// `error` of the commit of a close: if it is of the storage, what becomes of what was put.
Error lost_at_close(const Error& error);

}  // namespace sluice::commit
