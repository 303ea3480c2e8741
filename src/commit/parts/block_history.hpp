// Which variables of a rank have the bytes that they had in the last commits. Local; no I/O.
//
// A variable that changes costs a look at 64 places of each block: where these differ from the
// commit before, the rest is not read. Only where they do not, all bytes are, once.
//
// Invariants: a count never says more than what the checksums of all bytes, of their places and of
// their types have shown, of commits that followed one another; after forget() nothing is known.
#pragma once

#include <cstdint>
#include <vector>

#include "commit/write/file_commit.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

class BlockHistory {
 public:
  /// By variable: in how many of the last commits, without a gap, this rank had the bytes that it
  /// has in `commit`, at most `most`. 0 for variables that the commit does not hold, and where it
  /// cannot be told. The values are read.
  std::vector<std::int64_t> look(const std::vector<model::Definition>& definitions,
                                 const FileCommit& commit, std::int64_t most);
  /// The commit that look() saw last has succeeded.
  void committed() { seen_ = next_; }
  void forget() noexcept {
    seen_.clear();
    next_.clear();
  }

 private:
  struct Seen {
    bool is_known = false;     ///< the next two
    std::uint64_t sample = 0;  ///< checksum of places, types and some bytes
    std::int64_t commits = 0;  ///< the last ones that had the bytes of `whole`; 0: that is unknown
    std::uint64_t whole = 0;   ///< checksum of places, types and all bytes
  };

  Seen next_of(const Seen& before, const std::vector<const model::Block*>& blocks,
               const model::Definition& definition, std::int64_t most, std::int64_t& alike);

  std::vector<Seen> seen_;  ///< by variable
  std::vector<Seen> next_;
};

}  // namespace sluice::commit
