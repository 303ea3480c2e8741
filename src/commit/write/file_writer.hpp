// One file being written by the ranks of one transport: plans a commit's blocks, writes them, makes
// them visible. Its input was checked before.
//
// Invariants: only rank 0 has a planner; a commit either succeeds on every rank or throws the same
// Error on every rank and leaves the file unchanged; metadata is written only after every writer
// has written (and, if durable, synced) its data; a file that cannot be restored to its last commit
// is poisoned and must not be written any more; commits in flight whose call has returned get into
// the file even if it is destroyed without close() (within timeout_s).
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commit/write/background_queue.hpp"
#include "commit/write/commit_planner.hpp"
#include "commit/write/commit_queue.hpp"
#include "commit/write/data_writer.hpp"
#include "commit/write/encoded_writer.hpp"
#include "commit/write/file_commit.hpp"
#include "commit/write/file_variables.hpp"
#include "commit/write/pending_commit.hpp"
#include "commit/write/plan_maker.hpp"
#include "exec/transport/transport.hpp"
#include "layout/refusals.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class FileWriter {
 public:
  /// Collective. transport and storage must outlive the object.
  FileWriter(exec::Transport& transport, storage::Storage& storage, const FilePlace& place,
             Opening opening, const Options& options);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// The variables of the file, existing and planned: those of an appended one first.
  const FileVariables& variables() const noexcept { return variables_; }
  bool poisoned() const noexcept { return poisoned_; }
  /// On rank 0: as Publisher::opening_notice().
  std::string opening_notice() const;
  /// On rank 0, of the last commit: its stamp in the file's log.
  std::int64_t modified_ns() const noexcept { return planner_ ? planner_->modified_ns() : 0; }
  /// On rank 0: the length of the file; 0 elsewhere.
  std::uint64_t bytes() const { return planner_ ? planner_->publisher().file().size() : 0; }
  /// The commits in flight.
  CommitQueue& queue() noexcept { return *queue_; }
  const CommitQueue& queue() const noexcept { return *queue_; }
  /// Seconds that commits have waited for staging memory so far.
  double waited_s() const { return queue_->waited_s() + data_->waited_s(); }

  // -- local, the same on every rank in the same order --------------------------------------------
  void define(const model::Definition& definition);
  void set_attribute(const model::Attribute& attribute);

  // -- collective ---------------------------------------------------------------------------------
  /// Returns the number of the step (of the next one if it is not a step).
  std::uint64_t commit(const FileCommit& commit);
  /// Makes everything written so far durable.
  void sync_all();
  /// Clears the failed commits in flight, and those after them: to be called before the next commit
  /// if a rank knows of one (CommitQueue::failure).
  void recover() { give_up(); }
  /// A clean end, when nothing is in flight. Afterwards only calls about commits in flight are
  /// allowed: there are none.
  void close();

 private:
  std::string open(Opening opening, const FilePlace& place);
  void make_queue();
  std::uint64_t write(const FileCommit& commit, const StagedCommit& staged);
  struct Placed {
    layout::CommitPlan plan;
    bool syncs_later = false;  ///< rank 0 syncs it, when all have written (Update::unsynced)
  };
  Placed place(const FileCommit& commit, std::uint64_t words, CommitPlanner::Update& update);
  bool is_on_node() const;
  bool may_sync_later(const FileCommit& commit) const;
  bool may_plan_behind(const FileCommit& commit) const;
  std::uint64_t write_behind(const FileCommit& commit, const StagedCommit& staged,
                             const std::shared_ptr<const EncodedWriter::Behind>& behind);
  void tell_planner(std::function<void(layout::Planner&)> what);
  void give_up();

  exec::Transport& transport_;
  storage::Storage& storage_;
  const std::string path_;
  Options options_;
  FileVariables variables_;
  layout::Refusals refusals_;
  PlanMaker plans_;
  std::unique_ptr<CommitPlanner> planner_;  ///< rank 0
  std::unique_ptr<DataWriter> data_;
  std::unique_ptr<CommitQueue> queue_;
  std::unique_ptr<EncodedWriter> encoded_;
  bool has_unsynced_ = false;  ///< commits that nobody has synced
  bool poisoned_ = false;
};

}  // namespace sluice::commit
