// The calls of one rank for an output, of any kind: definitions, attributes, blocks and rows,
// collected until the ranks commit them together.
//
// Invariants: a local failure is thrown at once and again, on every rank, by the next commit; a
// commit either succeeds on every rank or throws the same Error on every rank and leaves committed
// data unchanged; nothing is written before all ranks agreed that their calls match and that the
// blocks fit; an output that cannot be restored to its last commit is broken: every later call
// fails. The subclasses decide which rank writes which file.
//
// Size: half of its functions are the calls of a user's File, a quarter are virtual functions of
// the subclasses. Description, Puts and CostReport are classes of their own.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commit/output/cost_report.hpp"
#include "commit/output/description.hpp"
#include "commit/output/outside_cause.hpp"
#include "commit/output/puts.hpp"
#include "commit/output/rounding_notes.hpp"
#include "commit/write/commit_queue.hpp"
#include "commit/write/file_commit.hpp"
#include "commit/write/pending_commit.hpp"
#include "exec/rows/row_scatter.hpp"
#include "exec/transport/transport.hpp"
#include "layout/formats/formats.hpp"
#include "model/block.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// The result of a commit on all ranks together.
struct Receipt {
  std::uint64_t step = 0;
  bool durable = false;
  std::string skipped = {};  ///< why the step was left out; empty if it was not
  /// If the commit is still in flight; `durable` has no meaning then.
  std::shared_ptr<PendingCommit> pending = {};
};

class Output {
 public:
  virtual ~Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  const std::string& path() const noexcept { return path_; }
  const Description& description() const noexcept { return description_; }
  const std::vector<model::Definition>& definitions() const noexcept {
    return description_.definitions();
  }
  const layout::Format& format() const noexcept { return description_.format(); }
  std::uint64_t steps() const noexcept { return steps_; }
  bool in_step() const noexcept { return in_step_; }
  /// On rank 0: a remark for the user on how other writers are excluded; empty: none.
  virtual std::string opening_notice() const = 0;
  /// Its reports and their receivers.
  CostReport& report() noexcept { return report_; }

  // -- local; failures are thrown here and, again, by the next commit on every rank ---------------
  std::uint32_t define(const model::Definition& definition);
  void set_attribute(const model::Attribute& attribute);
  void begin_step(double time);
  /// Rows of a varying variable in the current step; before anything of it is put.
  void resize(std::uint32_t variable, std::uint64_t rows);
  /// Small blocks are copied at once; for others the memory must not change until the commit. With
  /// `must_copy` all are copied: Error over_budget if there is no space.
  void put(const model::Block& block, bool must_copy = false);
  /// The fast path for a small part that continues the variable's last one: see SmallPuts::next.
  bool put_next(std::uint32_t variable, const Type& type, bool allow_overflow, const void* data,
                int rank, const std::uint64_t* start, const std::uint64_t* count) noexcept {
    return puts_.next(variable, type, allow_overflow, data, rank, start, count);
  }
  void put_rows(const exec::Rows& rows);
  void put_joined(const JoinedRows& rows);
  /// Of a variable of the next commit, put by place: how its rows are divided into parts, for
  /// formats that have some. The same on every rank.
  void set_parts(std::uint32_t variable, std::vector<std::uint64_t> rows) {
    parts_[variable] = std::move(rows);
  }
  /// Throws `error`, which the caller of a local call has found, as that call does.
  void refuse(const Error& error);
  /// Records a failure of this rank (null: none): the next commit fails on every rank with it.
  /// `goes_on`: this rank does not throw it then.
  void fail(const std::exception_ptr& failure, bool goes_on = false) noexcept;
  /// What the next commit fails with, if anything. Local.
  const std::exception_ptr& failure() const noexcept { return failure_; }
  /// The memory of what this rank put may be gone: nothing of it may be read. Local.
  void distrust_memory() noexcept { keeps_earlier_ = false; }
  /// The current step was destroyed without its end, by mistake: close() will fail, on every rank,
  /// after closing. True for the first such step. Local.
  bool note_unended() noexcept {
    const bool is_first = !unended_;
    if (is_first) {
      unended_ = {steps_, transport_.rank()};
    }
    return is_first;
  }
  /// Does anything that was put, and is not committed, point to memory of the caller? Local.
  bool holds_memory() const noexcept { return puts_.holds_memory(); }
  /// Drops the current step and what was put since the last commit; was there any? Local.
  bool forget_uncommitted();
  /// Was the last call a commit that every rank threw? Or is another rank lost?
  bool failed_together() noexcept {
    return failed_together_ || (queue() != nullptr && queue()->has_lost_others());
  }
  /// Closed, by a call of this rank or of another one. Local.
  bool closed() const noexcept { return closed_; }
  /// Was the last call a step that failed, and took along what was put before it?
  bool lost_earlier() const noexcept { return lost_earlier_; }

  // -- collective ---------------------------------------------------------------------------------
  /// If commits continue in the background: progresses them without waiting. Local.
  void poll();
  /// Waits for commits in flight, at most that many seconds; true if all are complete. Throws the
  /// failure of a commit. Local.
  bool drain(double seconds);
  Receipt end_step();
  Receipt flush();
  void close();

 protected:
  /// transport and storage must outlive the object.
  Output(exec::Transport& transport, storage::Storage& storage, const std::string& path,
         const Options& options);

  /// The existing content; the same on every rank. `is_new`: there is something to commit even
  /// without any put. `has_times`: of Description::adopt().
  void adopt(const std::vector<model::Definition>& known, std::uint64_t steps, bool is_new,
             const layout::Format& format, bool has_times = false);
  exec::Transport& transport() const noexcept { return transport_; }
  storage::Storage& storage() const noexcept { return storage_; }
  const Options& options() const noexcept { return options_; }

  // -- implemented by the subclass
  // ------------------------------------------------------------------
  /// Local: a definition or an attribute that was found valid.
  virtual void accept(const model::Definition& definition) = 0;
  virtual void accept(const model::Attribute& attribute) = 0;
  /// Can the output not continue?
  virtual bool broken() const = 0;
  /// Would a last commit have something to do even without any put?
  virtual bool has_unfinished() const = 0;
  /// Collective. Writes and publishes; returns the number of the step.
  virtual std::uint64_t carry_out(const FileCommit& commit) = 0;
  /// Collective. Makes everything committed so far durable.
  virtual void sync_all() = 0;
  /// Collective, after the last commit.
  virtual void finish() = 0;

  /// The commits in flight; null: commits are never in flight.
  virtual CommitQueue* queue() noexcept { return nullptr; }
  /// Does a commit wait for the one before?
  virtual bool one_at_a_time() const { return false; }
  /// Collective: after a commit in flight has failed.
  virtual void recover() {}
  /// Steps that are committed or in flight, after a failure.
  virtual std::uint64_t steps_left() const { return steps_; }
  /// Seconds that commits of this rank have waited for staging memory so far.
  virtual double waited_s() const { return 0; }

 private:
  void require_open() const;
  template <class Work>
  void local(Work&& work);
  template <class Work>
  auto together(Work&& work);

  void note_rounding(const std::string& variable, const codec::Rounding& rounding);
  Receipt commit(bool is_step, bool is_last);
  Receipt commit_or_skip();
  void keep_earlier(const Error& error);
  bool copy_earlier();
  Receipt write(FileCommit& file);
  struct Agreed {
    std::vector<Touch> touched;
    bool is_busy;  ///< some rank knows of an earlier commit in flight
  };
  Agreed agree_on_touched(bool is_step, bool is_last);
  [[noreturn]] void refuse_divergent(bool is_step, bool is_last, bool closes);
  [[noreturn]] void close_after(const Error& error);
  bool has_work(const std::vector<Touch>& touched, bool is_step, bool is_last) const;
  void agree_on_the_way();
  void recover_here(const std::exception_ptr& failure);
  void forget_step() noexcept;
  void drop_step() noexcept;
  void leave_step() noexcept;

  exec::Transport& transport_;
  storage::Storage& storage_;
  const std::string path_;
  Options options_;
  Description description_;
  RoundingNotes rounding_notes_;
  std::map<std::uint32_t, std::vector<std::uint64_t>> parts_;  ///< see set_parts
  Puts puts_;
  CostReport report_;

  bool has_news_ = true;  ///< is there something to commit even without a put?
  bool in_step_ = false;
  double time_ = 0;
  std::uint64_t steps_ = 0;
  std::exception_ptr failure_;
  bool goes_on_ = false;      ///< does this rank not throw it?
  bool one_goes_on_ = false;  ///< after a failed commit: is there a rank that has not thrown it?
  OutsideCause cause_;
  bool failed_together_ = false;
  bool keeps_earlier_ = true;  ///< may what was put before the step be kept if that fails?
  bool lost_earlier_ = false;
  bool all_end_step_ = false;  ///< are all ranks known to be in the same end_step()?
  bool has_puts_ = false;      ///< has any rank put something for the last commit?
  bool closed_ = false;

  struct Unended {
    std::uint64_t step = 0;
    int rank = 0;
  };
  std::optional<Unended> unended_;  ///< the first step of this rank; after the last commit: of all
                                    ///< ranks
};

/// Collective. An output for the strategy that `options` name. If the path is a symbolic link, its
/// target is written (which need not exist), and the link stays.
std::unique_ptr<Output> open_output(exec::Transport& transport, storage::Storage& storage,
                                    const std::string& path, Opening opening,
                                    const Options& options);

}  // namespace sluice::commit
