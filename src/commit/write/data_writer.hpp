// Turns a commit into jobs for the writers: portions for the flows, fill values, syncs; owns
// this rank's descriptor of the file and its staging.
//
// Invariants: every rank that has the file open for data has file(); jobs for the writer thread are
// executed in the order of submission, and refer to nothing that a later call of the caller
// changes; staging stays inside the budget.
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
#include "exec/write/ring.hpp"
#include "exec/write/work.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class DataWriter {
 public:
  /// Collective. Opens the file of `place`, which is at `present_path`, on the ranks that write.
  /// `publisher` is that of rank 0, else null; the arguments must outlive the object.
  DataWriter(exec::Transport& transport, storage::Storage& storage, const FilePlace& place,
             const std::string& present_path, const Options& options,
             const FileVariables& variables, const PlanMaker& plans, Publisher* publisher);

  /// Open for data; null on ranks that do not write.
  storage::File* file() const noexcept { return file_; }
  exec::Buffers& buffers() noexcept { return buffers_; }
  exec::WriteBehind& writer() noexcept { return buffers_.writer; }
  /// Do jobs run in a thread, beside the caller?
  bool has_thread() const { return storage_.in_background() && transport_.runs_at_once(); }

  /// The number of threads that may encode tiles.
  std::size_t encoding_threads() const;

  /// Cuts the blocks and numbers their checksum words. Collective, unless the blocks are unchanged
  /// since the previous commit.
  StagedCommit stage(const FileCommit& commit);
  exec::Work work_of(const FileCommit& commit, std::span<const layout::Portion> portions,
                     const layout::CommitPlan& placed) const;
  /// The objects to which the addresses of a commit belong, if the file is a store.
  void map(const layout::CommitPlan& placed);
  /// Fill values under the written data. Collective, unless `who` continues in the background.
  void prefill(const layout::CommitPlan& placed, const plan::Plan& who);
  /// Collective. Returns this rank's failure. In the background: returns when its part has been
  /// passed on.
  std::exception_ptr write(const plan::Plan& who, const exec::Work& work);
  /// Makes everything written so far durable.
  void sync();
  /// From here on, until the next call: do writes of this rank stay in the page cache?
  void keep_cached(bool is_wanted);
  /// Collective. After a failed sync: another descriptor of the file, which is at `present_path`.
  /// Error io if that is impossible.
  void renew(const std::string& present_path);
  /// On every rank, after all of them have ended what they wrote: leaves the staging to the pool.
  void close();

  // -- staging that the ranks of a node share -----------------------------------------------------
  /// Collective: as much as `commits` of this size need and the budget allows; the same decision on
  /// every rank. `wait_for_all`: waits until nothing uses it. `encodes`: tiles are encoded in the
  /// background, too.
  void share_ring(const plan::Plan& who, std::uint64_t commits, bool encodes,
                  const std::function<void()>& wait_for_all);
  bool has_ring() const noexcept { return buffers_.ring != nullptr; }
  /// Has the ring slots for so many bytes of a writer?
  bool ring_holds(std::uint64_t bytes) const noexcept;
  /// Is there one, with slots for all that a commit passes through it?
  bool ring_holds(const plan::Plan& who, const layout::CommitPlan& placed) const;
  /// Some rank has no such memory.
  void refuse_ring() noexcept { ring_is_refused_ = true; }
  /// While nothing is in flight.
  void drop_ring();
  /// Every commit is settled, and no other will come: nobody touches it until close() leaves it to
  /// other files.
  void rest_ring();
  /// Nobody waits for it any more.
  void stop_ring() noexcept;
  /// Seconds that this rank has waited for staging.
  double waited_s() const;

 private:
  void open_own(const std::string& path, const std::string& present_path, bool writes,
                bool together);
  void number_words(const FileCommit& commit, StagedCommit& staged);

  // What the ranks exchanged about their blocks when these had that number.
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
  const bool in_background_;
  const std::size_t rank_cores_;
  Publisher* publisher_;
  std::uint64_t writers_ = 1;       ///< ranks that have the file open for data
  std::uint64_t writer_index_ = 0;  ///< of this rank among them, where it is one
  std::unique_ptr<ReopenableFile> own_file_;
  ReopenableFile* file_ = nullptr;  ///< the publisher's or own_file_
  exec::Buffers buffers_;
  Words words_;
  std::shared_ptr<exec::Ring> resting_ring_;
  std::uint64_t ring_asked_bytes_ = 0;  ///< of a writer; the budget may have had room for less
  bool ring_is_refused_ = false;
  bool encodes_ = false;      ///< was there ever a commit that is encoded in the background?
  double ring_waited_s_ = 0;  ///< for rings that were dropped
};

}  // namespace sluice::commit
