// A file that a program of HDF5 writes, whose every flush is a commit: whatever happens, the file
// is that of some flush, not older than the last one that returned.
//
// Invariants:
// - What is committed is never written over without a complete journal (docs/durability.md): writes
//   below the frontier, the largest end of allocation of any commit, are held; those beyond it go
//   to the file at once or at the commit, where no commit so far can see them.
// - A new file is built beside its name, and takes it at the first commit. Where an empty file is
//   there it is written into that one, but for its signature until the first commit.
// - A commit that fails leaves the one before; where the file can be written again the next one
//   takes everything with it. Bytes that could not be written anywhere, and data that a failed sync
//   has lost, keep every later commit from being made.
// - A durable commit ends when its superblock is written; the next sync of the file makes that
//   durable. Until then its record stays in the journal, so that recovery can lift the guard.
// - A commit that is deferred (Settings::Apply::later) ends when its record is durable. What it
//   changes in place stays in held_, and is in every later record, until one of them is applied.
// - The file never becomes shorter before it is closed.
// - The journal is removed only when the file needs it no more: the last commit is in place, no
//   guard is in the file, and both are durable as far as that is promised.
// - A writer that has lost its lease changes nothing any more: neither the file, nor its journal,
//   nor any other file beside it. Of a file that is not at its path no later commit is made.
// - In a forked child nothing reaches the disk: what it writes stays in its memory, and its flush
//   says so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commit/publish/journal_runs.hpp"
#include "plugin/block_checksums.hpp"
#include "plugin/claim.hpp"
#include "plugin/guarded_file.hpp"
#include "plugin/held_signature.hpp"
#include "plugin/held_writes.hpp"
#include "plugin/lost_writes.hpp"
#include "plugin/new_name.hpp"
#include "plugin/record_log.hpp"
#include "plugin/refused_flushes.hpp"
#include "plugin/settings.hpp"
#include "storage/own_process.hpp"
#include "storage/storage.hpp"

namespace sluice::plugin {

/// Size: The driver's ten calls, and a function for each stage of a commit.
class CommittedFile {
 public:
  /// A file that is there; what a crash left undone is done first. Errors: those of opening; locked
  /// names who writes it.
  static std::shared_ptr<CommittedFile> reopen(storage::Storage& storage, const std::string& path,
                                               const Settings& settings);
  /// A new file; what is at `path` stays until the first commit replaces it, unless it is empty.
  /// With `exclusive` Error exists where there is something, now or then.
  static std::shared_ptr<CommittedFile> create(storage::Storage& storage, const std::string& path,
                                               const Settings& settings, bool exclusive);
  /// Removes a file that was never committed, or empties it; drops what was not committed of
  /// another one.
  ~CommittedFile();
  CommittedFile(const CommittedFile&) = delete;
  CommittedFile& operator=(const CommittedFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  storage::FileIdentity identity() const noexcept { return file_.identity(); }
  bool is_here() const noexcept { return own_.is_here(); }

  /// What the program wrote last; zeros beyond the end.
  void read(std::uint64_t offset, std::span<std::byte> bytes);
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  std::uint64_t size() const noexcept { return logical_end_; }
  void set_size(std::uint64_t bytes);
  std::uint64_t end() const noexcept { return end_; }
  void set_end(std::uint64_t end) noexcept { end_ = end; }

  /// A durable, atomic commit of everything written so far. `closing`: the last one. On a full disk
  /// the journal goes first, where it can, and the commit is tried once more.
  void commit(bool closing);
  /// Commits what commit() did not; a clean end removes the journal. Error where the last state is
  /// not in the file.
  void close();

 private:
  CommittedFile(storage::Storage& storage, std::string path, const Settings& settings);
  void undo_creation() noexcept;
  bool is_removed() { return !name_.is_ahead() && claim_.is_removed(path_, file_); }
  /// To be called before anything is written. False: it was removed.
  bool require_place() { return claim_.require_place(name_.present(), file_); }
  void require_sound() const {
    require_sound_data(path_, state_.poisoned, file_.has_lost_data(), lost_);
  }
  void make_commit(bool closing);
  bool frees_journal() noexcept;
  void finish_commit();
  void sync_data();
  /// After a failed sync.
  void renew() {
    file_.renew(name_.present());
    require_sound();
  }
  void write_in_child(std::uint64_t offset, std::span<const std::byte> bytes);
  void write_through(std::uint64_t offset, std::span<const std::byte> bytes);
  void take_name(bool synced);
  void put_signature(bool synced);
  std::optional<commit::JournalTail> tail();
  bool may_defer() const;
  void change_in_place(bool synced, bool closing);
  void sync_record(bool is_there, bool with_data);
  void take_back(bool is_written) noexcept;
  void apply(commit::JournalRuns& runs, bool synced, bool guarded);
  void bring_in_place();
  /// Has a close anything to write, or a journal to remove?
  bool is_unfinished() const {
    return state_.dirty || deferred_ || pending_ || file_.is_guarded() || log_.is_there();
  }
  void finish_in_place() noexcept;
  void give_up() noexcept;

  storage::Storage& storage_;
  const std::string path_;
  const Settings settings_;
  Claim claim_;
  NewName name_;
  GuardedFile file_;
  HeldWrites held_;
  HeldSignature signature_;
  LostWrites lost_;
  RecordLog log_;
  BlockChecksums checksums_;
  std::unique_ptr<commit::JournalRuns> deferred_;  ///< the last commit, if it is in held_
  std::unique_ptr<commit::JournalRuns> pending_;   ///< decided, not all in place
  std::unique_ptr<commit::JournalRuns> applied_;   ///< in place, but for a sync of its last stage
  std::uint64_t frontier_ = 0;
  std::uint64_t logical_end_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t commits_ = 0;
  struct State {
    bool dirty = false;        ///< written since the last commit
    bool keeps_some = false;   ///< held_ has bytes beyond the frontier,
    bool keeps_fresh = false;  ///< and takes all: the file refused some
    bool names_changed = false;
    bool poisoned = false;
    bool closed = false;
  };
  State state_;
  storage::OwnProcess own_;
};

}  // namespace sluice::plugin
