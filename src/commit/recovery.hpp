// What is done about a journal that a crash left behind. docs/durability.md has the case analysis.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "commit/journal.hpp"

namespace sluice::commit {

struct Recovery {
  enum class Found : std::uint8_t { nothing, incomplete, complete };
  Found found = Found::nothing;
  std::uint64_t runs = 0;     ///< of a complete journal
  std::uint64_t changed = 0;  ///< runs that did not hold their new bytes yet
};

/// Brings the file at `path` to its last durable commit and removes the journal; with `dry_run`
/// only says what it would do. One rank, which holds the lease. Error changed_outside where the
/// file holds neither the old nor the new bytes; nothing is changed then.
Recovery recover(storage::Storage& storage, const std::string& path, bool dry_run);

/// Writes a complete journal's runs in place, guarded: the file's first byte is spoiled until the
/// rest is there. With `synced` every stage is synced.
void apply_journal(storage::File& file, const Journal& journal, bool synced);

/// A file as a Sluice reader sees it: `journal` laid over what is read. Read only.
std::unique_ptr<storage::File> with_journal(std::unique_ptr<storage::File> file, Journal journal);

}  // namespace sluice::commit
