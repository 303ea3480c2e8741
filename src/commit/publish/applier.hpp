// Puts what is durable in the journal in place: at intervals, many commits at once, by a thread
// where the storage allows one.
//
// Invariants: what is put in place is the change of the last record of the journal, which holds
// that of all records before it; nothing is put in place while somebody holds the lock of hold();
// after a failure nothing is, and the next opening of the file does it; nothing is put into another
// file that was given the path meanwhile, nor into this one where it has another path.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "commit/publish/journal.hpp"
#include "commit/publish/pending_changes.hpp"
#include "commit/publish/published_name.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class Applier {
 public:
  struct Config {
    const PublishedName& name;
    storage::File& file;  ///< written by callers; the thread opens it for itself
    double interval_s;    ///< between two times that something is put in place
  };
  /// The arguments must outlive the object.
  Applier(const Config& config, std::shared_ptr<PendingChanges> changes);
  /// Puts in place what is pending.
  ~Applier();
  Applier(const Applier&) = delete;
  Applier& operator=(const Applier&) = delete;

  /// Waits until nothing is due. While the lock is held nothing is put in place.
  std::unique_lock<std::mutex> hold();
  // -- by a caller that holds the lock
  bool has_pending() const { return pending_.has_value(); }
  /// `journal` has the changes of all commits since the last that was put in place. `now`: does
  /// not wait for the interval.
  void replace(Journal journal, bool now);
  /// Puts in place what is pending, at once.
  void finish() noexcept;
  /// Leaves what is pending to the next opening of the file, as after a failure.
  void give_up() noexcept;

  /// Did it fail?
  bool has_failed() const noexcept { return has_failed_; }
  /// Because the path does not lead to the file any more?
  bool has_lost_file() const noexcept { return has_lost_file_; }

 private:
  bool is_due() const;
  void apply(storage::File& file) noexcept;
  void open_and_apply() noexcept;
  void run();

  const Config config_;
  const std::shared_ptr<PendingChanges> changes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Journal> pending_;
  double due_s_ = 0;             ///< by model::now_s
  double last_s_ = 0;            ///< the same: when something was put in place last
  double unopened_since_s_ = 0;  ///< the same: the thread cannot open the file; 0: it can
  std::atomic<bool> has_failed_ = false;
  std::atomic<bool> has_lost_file_ = false;
  bool stop_ = false;
  std::thread thread_;
};

/// Puts a complete journal in place; `synced`: each stage is.
void put_in_place(storage::File& file, Journal journal, bool synced);

}  // namespace sluice::commit
