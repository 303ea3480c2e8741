// What is done about a journal that a crash left behind. docs/durability.md has the case analysis.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "commit/publish/journal.hpp"

namespace sluice::commit {

struct Recovery {
  enum class Found : std::uint8_t { nothing, incomplete, complete };
  Found found = Found::nothing;
  std::uint64_t commit = 0;   ///< of a complete journal: which commit of its run
  std::uint64_t runs = 0;     ///< of a complete journal
  std::uint64_t changed = 0;  ///< runs that did not hold their new bytes yet
  bool guarded = false;       ///< plain tools refused the file
  /// Steps that a file without a journal (npy) counted, and those of them that it holds.
  std::uint64_t counted = 0;
  std::uint64_t there = 0;
};

/// Brings the file at `path` to its last durable commit and removes the journal; a file without one
/// that counts more steps than it holds counts fewer afterwards. The file gets the time of
/// modification of that commit again, also where only bytes behind its end were written
/// (`was_left`: its last writer ended without closing it, see Lease). With `dry_run`
/// only says what it would do. One rank, which holds the lease. Error changed_outside where the
/// file holds neither the old nor the new bytes; nothing is changed then.
Recovery recover(storage::Storage& storage, const std::string& path, bool dry_run,
                 bool was_left = false);

/// Does a writer have the file open, or did one end without closing it? Before the lease is taken.
bool has_lease(storage::Storage& storage, const std::string& path);

/// The same for a caller without the lease: takes it meanwhile (not for `dry_run`). Error locked
/// where the file is being written, not_found where there is none.
Recovery recover_unattended(storage::Storage& storage, const std::string& path, bool dry_run);

/// Does a journal or a lease lie beside the file? Then it is being written, or its writer ended
/// without closing it, and its time of modification says nothing.
bool is_unfinished(storage::Storage& storage, const std::string& path);

/// The last durable commit of a file, for reading.
struct Committed {
  std::unique_ptr<storage::File> file;
  /// The journal laid over it; empty: none. For open_beside() on the other ranks: small values
  /// that change in place (times, the log of commits) are in it too.
  std::vector<std::byte> journal;
  bool is_unfinished = false;  ///< see there; when it was opened
  std::int64_t modified_ns = 0;
  /// What moment_of() said before.
  std::uint64_t moment = 0;
};

/// Stands for the state of a file and its journal: where it is the same twice, nobody wrote to them
/// in between. 0: it cannot be read.
std::uint64_t moment_of(storage::Storage& storage, const std::string& path) noexcept;

/// Opens the last durable commit of a file, beside a writer or after a crash, and hands it to
/// `load`, which reads what must be of one commit. Where a writer went on meanwhile `load` is
/// called again with another file; it must let go of the one before first. Returns the file of the
/// last call. Errors: those of opening and of `load`; changed_outside where a complete journal does
/// not fit the file; damaged where a crash left the file without the journal that it needs; locked
/// where a writer commits faster than the file can be read.
Committed open_committed(storage::Storage& storage, const std::string& path,
                         const std::function<void(storage::File&)>& load);

/// Another File of what open_committed() opened.
std::unique_ptr<storage::File> open_beside(storage::Storage& storage, const std::string& path,
                                           std::span<const std::byte> journal);

}  // namespace sluice::commit
