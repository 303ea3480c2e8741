// What makes of a commit jobs for the writers: portions for the executor, fill values, syncs; this
// rank's descriptor of the file and its staging.
//
// Invariants: whoever has the file open for data has file(); jobs for the writer's thread are
// carried out in the order in which they are submitted, and refer to nothing that a later call of
// the caller changes; staging stays inside the budget.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "commit/publish/publisher.hpp"
#include "commit/publish/reopenable_file.hpp"
#include "commit/write/file_variables.hpp"
#include "commit/write/plan_maker.hpp"
#include "exec/transport/transport.hpp"
#include "exec/write/executor.hpp"
#include "exec/write/ring.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class DataWriter {
 public:
  /// Collective. Opens the file, which is at `present_path`, on the ranks that write. `publisher`
  /// is rank 0's, else null; what is given must outlive the object.
  DataWriter(exec::Transport& transport, storage::Storage& storage, const std::string& present_path,
             const Options& options, const FileVariables& variables, const PlanMaker& plans,
             Publisher* publisher);

  /// Open for data; null on ranks that do not write.
  storage::File* file() const noexcept { return file_; }
  exec::Buffers& buffers() noexcept { return buffers_; }
  exec::WriteBehind& writer() noexcept { return buffers_.writer; }
  /// Do jobs run in a thread, beside the caller?
  bool has_thread() const { return storage_.in_background() && transport_.runs_at_once(); }

  /// Threads that may encode tiles.
  std::size_t encoding_threads() const;

  /// Cuts the blocks and numbers their checksum words. Collective, but where the blocks lie as in
  /// the commit before.
  StagedCommit stage(const FileCommit& commit);
  exec::Work work_of(const FileCommit& commit, std::span<const layout::Portion> portions,
                     const layout::CommitPlan& placed) const;
  /// What the addresses of a commit mean, where the file is a store.
  void map(const layout::CommitPlan& placed);
  /// Fill values under what is written. Collective, but where `who` goes on in the background.
  void prefill(const layout::CommitPlan& placed, const plan::Plan& who);
  /// Collective. Returns what this rank met. In the background: when its part is on its way.
  std::exception_ptr write(const plan::Plan& who, const exec::Work& work);
  /// Everything written so far is on stable storage.
  void sync();
  /// Collective. Where a sync has failed: another descriptor of the file, which is at
  /// `present_path`. Error io where there can be none.
  void renew(const std::string& present_path);
  /// On every rank, after all of them have ended what they wrote: leaves the staging to the pool.
  void close();

  // -- staging that the ranks of a node share -----------------------------------------------------
  /// Collective: as much as `commits` of this size need and the budget allows; the same decision on
  /// every rank. `wait_for_all`: until nothing uses it. `encodes`: tiles are encoded in the
  /// background, too.
  void share_ring(const plan::Plan& who, std::uint64_t commits, bool encodes,
                  const std::function<void()>& wait_for_all);
  bool has_ring() const noexcept { return buffers_.ring != nullptr; }
  /// Some rank has no such memory.
  void refuse_ring() noexcept { ring_is_refused_ = true; }
  /// While nothing is on its way.
  void drop_ring();
  /// Every commit is settled, and no other will come: nobody touches it until close() leaves it to
  /// other files.
  void rest_ring();
  /// Nobody waits for it any more.
  void stop_ring() noexcept;
  /// Seconds that this rank has waited for staging.
  double waited_s() const;

 private:
  void number_words(const FileCommit& commit, StagedCommit& staged);

  // What the ranks told each other of their blocks when these had that number.
  struct Words {
    std::uint64_t blocks_number = 0;
    std::uint64_t first = 0;  ///< checksum words of the ranks below this one
    std::uint64_t all = 0;
  };

  exec::Transport& transport_;
  storage::Storage& storage_;
  const Options options_;
  const FileVariables& variables_;
  const plan::WriterChoice choice_;
  Publisher* publisher_;
  std::uint64_t writers_ = 1;       ///< ranks that have the file open for data
  std::uint64_t writer_index_ = 0;  ///< of this rank among them, where it is one
  std::unique_ptr<ReopenableFile> own_file_;
  storage::File* file_ = nullptr;  ///< the publisher's or own_file_
  exec::Buffers buffers_;
  Words words_;
  std::shared_ptr<exec::Ring> resting_ring_;
  std::uint64_t ring_asked_bytes_ = 0;  ///< of a writer; the budget may have had room for less
  bool ring_is_refused_ = false;
  bool encodes_ = false;      ///< was there ever a commit that is encoded in the background?
  double ring_waited_s_ = 0;  ///< for rings that were dropped
};

}  // namespace sluice::commit
