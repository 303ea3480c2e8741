// The runs of a record that was just written, with their new bytes from memory where they lie there
// together: they need not be read back from the journal.
#pragma once

#include "commit/publish/journal_runs.hpp"
#include "plugin/held_writes.hpp"

namespace sluice::plugin {

/// Both must outlive the object, and `held` stay as it was when the record was written.
class HeldRuns final : public commit::JournalRuns {
 public:
  HeldRuns(commit::JournalRuns& record, const HeldWrites& held);
  std::span<const std::byte> before(const Piece& piece, std::vector<std::byte>& buffer) override;
  std::uint64_t before_checksum(const Piece& piece) override;
  std::span<const std::byte> after(const Piece& piece, std::vector<std::byte>& buffer) override;

 private:
  commit::JournalRuns& record_;
  const HeldWrites& held_;
};

}  // namespace sluice::plugin
