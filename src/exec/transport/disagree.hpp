// Describes how ranks differ that must make the same call with the same arguments.
//
// Invariants: data is exchanged only after a reduction has shown a difference, so that ranks which
// agree pay nothing; the exchange is one broadcast of the arguments of rank 0, however many ranks
// differ.
#pragma once

#include <string>
#include <vector>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

/// One thing that must be the same on every rank: "defined x", {"with shape (4)", "as f64"}.
struct Said {
  std::string what;
  std::vector<std::string> how;  ///< as many wherever `what` is the same
  std::string advice = {};       ///< for ranks that did not say it
  friend bool operator==(const Said&, const Said&) = default;
};

/// Collective, once every rank knows that some differ. `mine`: the statements of this rank, in
/// order. Throws Error divergent, the same on every rank, with the first difference between rank 0
/// and the lowest rank that differs from it: "WHERE: the ranks disagree: rank 2 defined x with
/// shape (4), rank 0 with shape (5)", "WHERE: the ranks disagree: rank 0 defined x, rank 2 did not:
/// ADVICE"; if none differs from rank 0, with `otherwise`.
[[noreturn]] void refuse_disagreement(Transport& transport, const std::string& where,
                                      const std::vector<Said>& mine, const std::string& otherwise);

}  // namespace sluice::exec
