// Diagnosis of waits that have exceeded their time limit: which rank waits where for which others.
//
// Pure: no communication. Transports collect the places in which ranks wait;
// diagnose_missing_ranks() follows the "waits for" edges between them to the ranks that are really
// missing. Invariant: a rank is named only if it did not answer, or is known to wait before the
// call in question.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sluice/error.hpp"

namespace sluice::exec {

enum class Verb : std::int32_t {
  open,
  barrier,
  allreduce,
  reduce,
  prefix_sum,
  broadcast,
  gather,
  allgather,
  exchange,
  split,
  send,
  receive,
};

/// "barrier", "allreduce", ...
const char* verb_name(Verb verb) noexcept;
/// True for every verb but send and receive.
bool is_collective(Verb verb) noexcept;

/// Where a rank waits.
struct Place {
  Verb verb = Verb::barrier;
  std::int64_t call = 0;   ///< how many collectives of its transport the rank has entered
  int tag = 0;             ///< of a send or receive
  std::vector<int> peers;  ///< ranks whose message is missing
  /// The transport in which it waits: 0, or the number of a part that was split from it.
  std::int64_t part = 0;
  std::int64_t outer_calls = 0;  ///< as `call`, of transport 0
};

/// The conclusion of a rank from its own place and the places of others.
struct Verdict {
  Code code = Code::timeout;  ///< timeout, or divergent if ranks are in different collectives
  std::string facts;          ///< "rank 0 waited 30 s in barrier for rank(s) 2"
  std::string remedy;
  std::vector<int> missing;  ///< missing ranks, in order
  /// One line, ready to be thrown.
  std::string text() const { return "sluice: " + facts + ": " + remedy; }
};

/// At most this many ranks are named in one line, and peers sent in one notice.
inline constexpr int max_named = 16;

/// "1, 3, 4 and 7 more".
std::string list_ranks(const std::vector<int>& ranks);

/// Diagnoses the wait of `rank` at `place` after `seconds`. `reports` holds the places of the ranks
/// that answered; `notes` may say more about the others (rank -> "left with ..."). Ranks are those
/// of the transport.
Verdict diagnose_missing_ranks(int rank, const Place& place, const std::map<int, Place>& reports,
                               double seconds, const std::map<int, std::string>& notes = {});

/// The ranks that can be reached from `place` along the peers of `reports`: those whose report is
/// needed for the diagnosis. Ascending.
std::vector<int> reachable(int rank, const Place& place, const std::map<int, Place>& reports);

}  // namespace sluice::exec
