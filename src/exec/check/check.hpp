// Do the blocks of all ranks cover every variable exactly once? The collective part of that check.
//
// Invariants: every rank returns, or every rank throws the same Error (same code, text and rank);
// no rank holds the blocks of all others: each searches cells with about as many blocks as it has
// itself. Limit: 2^31 blocks of one variable over all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "exec/transport/transport.hpp"
#include "model/box.hpp"

namespace sluice::exec {

/// A variable to be checked: the same list in the same order on every rank.
struct VariableShape {
  std::string name;
  model::Dims shape;
  bool partial = false;  ///< elements need not be put
};

/// A block of this rank; `variable` is its index in the list of variables to be checked.
struct OwnBlock {
  std::uint32_t variable = 0;
  model::Box box;
};

/// Finds blocks outside their variable (Error out_of_bounds), elements covered twice (overlap) and,
/// of variables that are not partial, elements covered by no block (hole), in this order, and
/// reports the first: of overlaps as model::find_overlap does, of holes the first missing element
/// of the first variable. COLLECTIVE: two reductions and one exchange if no error is found.
void check_coverage(Transport& transport, std::span<const VariableShape> variables,
                    std::span<const OwnBlock> own);

/// Compares the number of elements put with that of each variable: Error hole if there are fewer
/// (unless it is partial), overlap if there are more, out_of_bounds as above. Not found: overlaps
/// and holes of the same size. COLLECTIVE: one reduction if no error is found.
void check_volume(Transport& transport, std::span<const VariableShape> variables,
                  std::span<const OwnBlock> own);

}  // namespace sluice::exec
