// Protocol bugs, planted between the library and the recorded disk: only in tests.
//
// A BuggyStorage sees the calls of one rank, derives the stage of the protocol from them, and does
// what a library with that bug would have done. The library itself has no such switch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::test {

enum class Bug : std::uint8_t {
  none,
  // stage 2
  no_data_sync,         ///< no writer syncs its data
  one_writer_unsynced,  ///< one writer does not
  fresh_after_sync,     ///< metadata in new space is written after the sync
  // stage 3
  no_journal,  ///< nothing is journalled
  no_journal_sync,
  no_journal_name_sync,  ///< the folder is not synced when the journal is made
  journal_after_apply,   ///< applied first, journalled then
  journal_short,         ///< the journal lacks its last run
  journal_no_root,       ///< the journal lacks the superblock
  // stages 4 to 6
  no_guard,
  no_guard_sync,
  no_apply_sync,
  root_before_apply,  ///< superblock and signature first, the rest after it
  apply_short,        ///< the last run is not written in place
  // first commit and end
  no_sync_before_rename,
  no_name_sync,           ///< the folder is not synced after the rename
  old_journal_stays,      ///< the journal of a replaced file is removed after the rename
  journal_removed_early,  ///< removed when the apply begins
  // recovery
  recovery_no_sync,
  recovery_no_guard,
  recovery_trusts,  ///< the checksums of the journal are not checked
  recovery_drops,   ///< a complete journal is dropped
  // journals of several records, and of data that was not synced before
  log_forgets,           ///< a record lacks a change of the one before
  log_at_front,          ///< each record is written over the one before
  recovery_takes_first,  ///< an old record of the journal is carried out
  recovery_takes_stale,  ///< one that an earlier use of the journal left counts
  recovery_skips_data,   ///< a record counts whatever became of its data
  // space
  below_frontier,  ///< raw data is written over committed bytes
  // logs (records)
  entry_unsynced,  ///< what a commit appends is not synced before the root is written
  root_unsynced,
  // sets of parts
  part_unsynced,
  part_name_unsynced,  ///< the folder of the parts is not synced
  index_unsynced,      ///< the index is renamed before it is synced
  index_name_unsynced,
  // stores
  root_document_first,  ///< renamed before what it names
  log_chunk_unsynced,   ///< a log of a repository
  manifest_unsynced,
  snapshot_unsynced,
  ref_name_unsynced,  ///< the folder of a ref is not synced
  old_store_removed,  ///< a replaced store is removed before the new one has a commit
};

struct Planted {
  Bug bug;
  std::string name;
  bool in_recovery = false;        ///< else in the run
  std::string scenario = "fresh";  ///< where it shows
  std::string format = "hdf5";
  std::string strategy = "shared";
  std::uint64_t keep = 0;
  bool is_deferred = false;
};
const std::vector<Planted>& planted_bugs();

/// State shared by the ranks of one run.
struct BugState;
std::shared_ptr<BugState> make_bug(Bug bug);

std::shared_ptr<storage::Storage> plant(std::shared_ptr<storage::Storage> inner,
                                        std::shared_ptr<BugState> state, int rank);

}  // namespace sluice::test
