// The descriptor of a file that a CommittedFile writes: what of it is not durable yet, and the
// guard in its superblock.
//
// Invariants:
// - After a sync that failed nothing is synced by the same descriptor: the kernel says yes the next
//   time. renew() opens another one and writes everything once more that was not synced; what it
//   cannot write again is lost, and stays so.
// - A guard that may be in the file counts as there until it is certainly gone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commit/publish/journal_runs.hpp"
#include "plugin/fresh_ranges.hpp"
#include "plugin/held_writes.hpp"
#include "plugin/settings.hpp"
#include "storage/storage.hpp"

namespace sluice::plugin {

class GuardedFile {
 public:
  GuardedFile(storage::Storage& storage, const Settings& settings);

  void take(std::unique_ptr<storage::File> file);
  void drop() noexcept { file_.reset(); }
  bool is_open() const noexcept { return file_ != nullptr; }
  const storage::FileIdentity& identity() const noexcept { return identity_; }
  storage::File& file() const { return *file_; }
  /// The same, to change it.
  storage::File& changing();

  /// In new space.
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// The same of what is held from `from` on.
  void write_held(const HeldWrites& held, std::uint64_t from);
  void grow_to(std::uint64_t end);
  /// Ignoring failures: what is too much stays.
  void cut_to(std::uint64_t end) noexcept;
  /// What was written of [from, end) since the last sync; nothing where that cannot be told.
  std::optional<std::vector<commit::FreshExtent>> unsynced(std::uint64_t from,
                                                           std::uint64_t end) const;
  void sync();
  /// After a failure: see the invariants. Error changed_outside where another file is at `path`.
  void renew(const std::string& path);
  bool has_lost_data() const noexcept { return data_lost_; }

  bool is_guarded() const noexcept { return guarded_; }
  /// Returns where.
  std::uint64_t raise_guard();
  /// Of a file in which nothing was changed yet. Ignoring failures: the next flush or the close
  /// tries again while is_guarded(), and the record of the commit before lets recovery do it.
  void lift_guard() noexcept;
  /// Changes it in place, all but the last sync. `guarded`: the guard is there, and durable if
  /// `synced`.
  void change(commit::JournalRuns& runs, bool synced, bool guarded);

 private:
  storage::Storage& storage_;
  const Settings settings_;
  std::unique_ptr<storage::File> file_;
  storage::FileIdentity identity_;
  FreshRanges fresh_;
  bool unsynced_ = false;     ///< the data, since the last sync
  bool sync_failed_ = false;  ///< or another call: another descriptor next time
  bool data_lost_ = false;    ///< by a failed sync
  bool guarded_ = false;      ///< the guard may be in the file
};

}  // namespace sluice::plugin
