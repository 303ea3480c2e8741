// Applies the changes of a journal to an HDF5 file, guarded: between the first change and the last
// one no plain reader can open the file. docs/durability.md, stages 4 to 6.
//
// Invariants: nothing is changed unless every byte concerned is the old one or the new one; the
// order is guard, sync, changes, sync, superblock, sync; what is held is one piece of the journal.
// Of data whose old bytes are not in the journal the guard says that it is being changed: without
// it all of a piece are old, by their checksum, or all are new.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "commit/publish/journal_runs.hpp"

namespace sluice::commit {

/// Versions 2 and 3 of the superblock, and the first part of versions 0 and 1, which holds all that
/// is needed to open a file.
inline constexpr std::uint64_t superblock_bytes = 48;

/// How a journal relates to the file beside it.
struct InPlace {
  std::uint64_t changed = 0;  ///< runs that do not have their new bytes yet
  bool guarded = false;       ///< plain tools refuse the file
};

/// Error changed_outside if the file has neither the old nor the new bytes, truncated if it is
/// shorter than the commit.
InPlace examine(storage::File& file, JournalRuns& journal);

/// Writes a complete journal's runs in place: the first byte of the superblock is invalid until the
/// rest is written. With `synced` every stage is synced.
void apply_journal(storage::File& file, JournalRuns& journal, bool synced);

// The stages one by one, for a writer that syncs the guard together with its data, and does not
// wait for the last sync. It must keep the journal until that is done.
/// Stage 4. Returns where: in the place of that byte there is a signature_byte.
std::uint64_t raise_guard(storage::File& file);
/// Takes it back where nothing was changed.
void lift_guard(storage::File& file);
/// Stages 5 and 6 but for the last sync, under a guard that is durable if `synced`.
void change_under_guard(storage::File& file, JournalRuns& journal, bool synced);

/// Is the file as stage 4 leaves it: HDF5 but for the first byte of its superblock?
bool is_guarded(storage::File& file);

/// Only if the journal was removed by hand, or damaged.
[[noreturn]] void throw_lost(const std::string& path);

/// Sets the time of modification of a file to that of its last commit: by that `verify` knows that
/// no other program changed it. Only the owner of a file may; for another writer it is not changed.
void stamp_if_allowed(storage::File& file, std::int64_t modified_ns);
/// The same, ignoring failures.
void stamp(storage::File& file, std::int64_t modified_ns) noexcept;

/// A file as seen by a reader that knows of the journal: `journal` applied to what is read. Read
/// only.
std::unique_ptr<storage::File> with_journal(std::unique_ptr<storage::File> file,
                                            std::unique_ptr<JournalRuns> journal);

/// What was done about the journal beside a file.
struct CarriedOut {
  bool complete = false;  ///< otherwise nothing was to be done
  std::uint64_t commit = 0;
  std::uint64_t runs = 0;
  InPlace found;
};

/// Was the file changed by another program since its writer's last sign of life? Not if it is
/// longer than `end`, that of its last commit: of a step that was not committed there may be
/// anything.
bool is_changed_since(storage::File& file, std::int64_t sign_ns, std::uint64_t end);

/// Brings the file at `path`, which has a journal beside it, to the commit of that; the journal
/// stays. It gets the time of modification of the commit, unless it is_changed_since() `sign_ns`,
/// if that is given. With `dry_run` only reports what it would do. One process, which holds the
/// lease. Errors: those of examine(); damaged if the file is guarded and its journal not complete.
CarriedOut carry_out_journal(storage::Storage& storage, const std::string& path, bool dry_run,
                             std::optional<std::int64_t> sign_ns = {});

/// Durably.
void remove_journal(storage::Storage& storage, const std::string& path);

}  // namespace sluice::commit
