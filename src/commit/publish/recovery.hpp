// Handles a journal that a crash left behind. docs/internals/commit-protocol.md has the cases.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  std::uint64_t changed = 0;  ///< runs that did not have their new bytes yet
  bool guarded = false;       ///< plain tools refused the file
  /// Steps that a file without a journal (npy) counted, and those of them that it contains.
  std::uint64_t counted = 0;
  std::uint64_t there = 0;
};

/// Brings the file at `path` to its last durable commit and removes the journal; if a file without
/// one counts more steps than it contains, the count is corrected. The file gets the time of
/// modification of that commit again, also if only bytes after its end were written (`left_ns`:
/// its last writer ended without closing it, see left_lease()), unless another program has changed
/// it since its writer's last sign of life: verify is to notice that. With `dry_run` only reports
/// what it would do. One rank, which holds the lease. Error changed_outside if the file has neither
/// the old nor the new bytes, damaged if the journal is; nothing is changed then.
Recovery recover(storage::Storage& storage, const std::string& path, bool dry_run,
                 std::optional<std::int64_t> left_ns = {});

/// Of the lease of a writer that ended without closing the file: when it was taken or renewed last.
/// Empty: there is none. Call it before taking the lease.
std::optional<std::int64_t> left_lease(storage::Storage& storage, const std::string& path);

/// A journal that keep_left_journal() has kept.
struct LeftJournal {
  std::string path;  ///< empty: there was none
  bool has_replaced_another = false;
};

/// For a writer that begins a new file at `path`, and has the lease: a complete journal there whose
/// file was moved away has steps that are nowhere else, a damaged one may have. Gives it a name
/// beside, durably, which is returned. After most_left_journals of them it replaces the oldest one.
LeftJournal keep_left_journal(storage::Storage& storage, const std::string& path);
inline constexpr int most_left_journals = 10;
/// What the user should know of an opening: Lease::notice() of a lease, which may be null, and what
/// to do with the journal `kept`.
std::string opening_notice(const storage::Lease* lease, const LeftJournal& kept);

/// Does a writer have the file open, or did one end without closing it? Call it before taking the
/// lease.
bool has_lease(storage::Storage& storage, const std::string& path);

/// The same for a caller without the lease: takes it (not for `dry_run`). Error locked if the file
/// is being written, not_found if it does not exist.
Recovery recover_unattended(storage::Storage& storage, const std::string& path, bool dry_run);

/// Is there a journal or a lease beside the file? Then it is being written, or its writer ended
/// without closing it, and its time of modification means nothing.
bool is_unfinished(storage::Storage& storage, const std::string& path);

/// The last durable commit of a file, for reading.
struct Committed {
  std::unique_ptr<storage::File> file;
  /// The journal to be applied; empty: none. For open_beside() on the other ranks: it also has
  /// small values that change in place (times, the log of commits).
  std::vector<std::byte> journal;
  bool is_unfinished = false;  ///< see there; when it was opened
  std::int64_t modified_ns = 0;
  /// The last result of moment_of().
  std::uint64_t moment = 0;
};

/// Identifies the state of a file and its journal: if it is the same twice, nothing was written in
/// between. 0: it cannot be read.
std::uint64_t moment_of(storage::Storage& storage, const std::string& path) noexcept;

/// Opens the last durable commit of a file, beside a writer or after a crash, and passes it to
/// `load`, which reads what must be of one commit. If a writer continued meanwhile `load` is called
/// again with another file; it must release the previous one first. Returns the file of the last
/// call. Errors: those of opening and of `load`; changed_outside if a complete journal does not
/// match the file; damaged if a crash left the file without the journal that it needs; locked if a
/// writer commits faster than the file can be read.
Committed open_committed(storage::Storage& storage, const std::string& path,
                         const std::function<void(storage::File&)>& load);

/// Another File of what open_committed() opened.
std::unique_ptr<storage::File> open_beside(storage::Storage& storage, const std::string& path,
                                           std::span<const std::byte> journal);

}  // namespace sluice::commit
