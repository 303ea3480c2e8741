// The journal beside a file that is written: where its records go, and what they say.
//
// Invariants: the record of the last commit stays until the next one is durable, so that recovery
// can return to it (and lift a guard that was raised for the next one); a record that does not
// count is taken out durably before anything else is written. Most records are written over what
// the journal has already: to sync those the file system need not change its own metadata.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "commit/publish/journal_runs.hpp"
#include "plugin/held_writes.hpp"
#include "storage/own_process.hpp"
#include "storage/storage.hpp"
#include "storage/sync_beside.hpp"

namespace sluice::plugin {

/// What a commit changes in place.
struct Change {
  storage::File& file;
  const HeldWrites& held;
  std::uint64_t frontier = 0;          ///< what is held below it
  std::optional<std::uint64_t> guard;  ///< where it is raised
  std::uint64_t commit = 0;
  std::uint64_t end = 0;
  const commit::JournalTail* tail = nullptr;
  bool is_needed = false;  ///< also where nothing differs from the file
};

class RecordLog {
 public:
  RecordLog(storage::Storage& storage, std::string path);

  bool is_there() const noexcept { return journal_ != nullptr; }
  /// Is there a record to which recovery returns where the next one is not complete?
  bool has_previous() const noexcept { return next_.at != 0; }
  /// After write(): does the next record go to the front, over all others?
  bool is_full() const noexcept { return behind_.at == 0; }

  /// Null where nothing that is committed changes. It is not synced.
  std::unique_ptr<commit::JournalRuns> write(const Change& change);
  /// After write(): makes the record durable, and does `beside` at the same time. Errors: those of
  /// `beside`, then those of the sync.
  void sync(const std::function<void()>& beside);
  /// The record counts. One that is not `durable` is written over by the next.
  void accept(bool durable);
  /// The record must not count, whatever of it is on the disk.
  void reject();
  /// A clean end.
  void remove();

 private:
  void make_room();

  storage::Storage& storage_;
  const std::string path_;
  std::shared_ptr<storage::File> journal_;
  std::uint64_t room_ = 0;        ///< bytes of the journal that were ever written
  std::uint64_t last_bytes_ = 1;  ///< of the last record
  commit::JournalPlace next_;     ///< behind one that stays; at the front: of none
  commit::JournalPlace behind_;   ///< the one that was written last
  bool holds_old_ = false;        ///< records that the next one is written over
  bool is_named_ = false;         ///< durably
  storage::HomePtr<storage::SyncBeside> sync_;
};

}  // namespace sluice::plugin
