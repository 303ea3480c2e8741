// Rows that every rank puts without knowing where they go: those of a rank follow those of the rank
// before it. The ranks tell each other only how many they have, in the reduction that tells who put
// what (Puts::agree), and only where that changed on some rank.
//
// Invariants: a rank's rows keep the order of its calls; the places hold for as long as no rank
// puts another number of rows; the memory of the rows is the caller's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "commit/output/description.hpp"
#include "model/block.hpp"
#include "model/bytes.hpp"

namespace sluice::commit {

/// Rows as a rank puts them: dense, row-major. Not owned.
struct JoinedRows {
  std::uint32_t variable = 0;
  const std::byte* data = nullptr;
  std::uint64_t rows = 0;
  Type type;
};

class JoinedPuts {
 public:
  void add(const JoinedRows& rows) { calls_.push_back(rows); }
  bool empty() const noexcept { return calls_.empty(); }
  std::span<const JoinedRows> calls() const noexcept { return calls_; }
  void forget() noexcept { calls_.clear(); }
  /// What, if it changes on a rank, moves the rows of others.
  void sign(model::ByteWriter& out) const;

  /// A value for each varying variable and rank.
  static std::size_t told_values(const Description& description, int ranks);
  /// This rank's row counts, into told_values() zeros that are reduced by maximum.
  void tell(const Description& description, int rank, int ranks,
            std::span<std::int64_t> told) const;
  /// What all ranks told.
  void learn(const Description& description, int rank, int ranks,
             std::span<const std::int64_t> told);
  const std::vector<std::uint64_t>& rows_by_rank(std::uint32_t variable) const {
    return places_.at(variable).by_rank;
  }
  /// Gives each variable of `joined` its rows in `description`, and appends this rank's rows as
  /// blocks. Error out_of_bounds, the same on every rank.
  void place(const std::vector<bool>& joined, Description& description,
             std::vector<model::Block>& blocks) const;

 private:
  struct Place {
    std::uint64_t first = 0;  ///< this rank's first row
    std::uint64_t total = 0;  ///< of all ranks
    std::vector<std::uint64_t> by_rank = {};
  };

  std::vector<JoinedRows> calls_;
  std::vector<Place> places_;  ///< by variable, as the ranks last agreed
};

}  // namespace sluice::commit
