// A storage that records every call on another one, so that every state a crash could leave can be
// built from the log.
//
// Invariants: the log contains every mutating call in the order in which it took effect, with its
// bytes; failed calls too, marked (part of a failed write may be on disk). A file is identified by
// its inode number, which renames do not change. A file that existed before the recording has an
// `open` record, before its first other record, that links its number to its path; no other open is
// recorded. Leases are not: they leave nothing that matters after a crash. Calls are counted
// whether recorded or not. Storages with whole files (object stores) are refused: Error internal.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/calls.hpp"
#include "support/observing_storage.hpp"

namespace sluice::storage {

/// One mutating call.
struct Record {
  Call call = Call::write;
  bool failed = false;
  int rank = 0;             ///< label of the virtual rank that made the call
  std::uint64_t inode = 0;  ///< which file, from 1; 0 for calls on folders
  /// The path as the file was opened (calls on a File), or as given (create, open, rename, remove,
  /// sync_directory); normal_path() in either case.
  std::string path;
  std::string to;                     ///< rename: the new path
  std::uint64_t replaced = 0;         ///< rename: the inode that `to` named before, 0: none
  std::uint64_t offset = 0;           ///< write, preallocate
  std::uint64_t length = 0;           ///< write, preallocate; resize: the new size
  std::int64_t modified_ns = 0;       ///< set_modified
  std::vector<std::byte> bytes = {};  ///< write
};

/// Counts of the calls on a path.
struct Counters {
  std::map<int, std::uint64_t> opens_by_rank;  ///< creations included
  std::uint64_t opens = 0;
  std::uint64_t open_now = 0;  ///< Files not yet destroyed
  std::uint64_t writes = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t reads = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t preallocations = 0;
  std::uint64_t syncs = 0;

  Counters& operator+=(const Counters& other);
};

/// The log that several RecordingStorages over one inner storage (one a rank) share.
class Log {
 public:
  /// At most `limit_bytes` of written bytes are kept; the write that exceeds it is refused with
  /// Error over_budget before it reaches the inner storage.
  explicit Log(std::uint64_t limit_bytes = std::uint64_t{4} << 30) : limit_bytes_(limit_bytes) {}

  /// Only while no call is in progress.
  const std::vector<Record>& records() const { return records_; }
  /// Counts of a path as opened (any spelling); all zero if it was never opened.
  Counters counters(const std::string& path) const;
  /// Totals over all paths.
  Counters totals() const;
  /// Clears records and counts; keeps the numbers of files.
  void clear();

 private:
  friend class RecordingStorage;
  friend class RecordingFile;

  mutable std::mutex mutex_;
  std::vector<Record> records_;
  std::map<std::string, Counters> counters_;
  std::map<std::string, std::uint64_t> inodes_;  // by current name
  std::uint64_t last_inode_ = 0;
  std::uint64_t kept_bytes_ = 0;
  const std::uint64_t limit_bytes_;
};

class RecordingStorage : public ObservingStorage {
 public:
  /// Records calls through this object and its Files with the label `rank`.
  RecordingStorage(std::shared_ptr<Storage> inner, std::shared_ptr<Log> log, int rank = 0);

  /// The label of later calls, and of Files opened from now on.
  void set_rank(int rank) { rank_ = rank; }
  const Log& log() const { return *log_; }

  std::unique_ptr<File> open(const std::string& path, Access access) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void remove_folder(const std::string& path) override;
  /// One record for every folder that was created.
  void make_folder(const std::string& path) override;
  void sync_directory(const std::string& path) override;
  WholeFiles* whole_files(const std::string& path) override { return no_whole_files(path); }
  /// The order of the calls is that of the ranks.
  bool in_background() const override { return false; }
  const char* name() const override { return "recording"; }

 private:
  std::uint64_t identify(const std::string& name);

  const std::shared_ptr<Log> log_;
  std::atomic<int> rank_;
};

}  // namespace sluice::storage
