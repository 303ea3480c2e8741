// What a rank says of its output, whatever becomes of it: definitions, attributes, blocks and rows,
// collected until the ranks commit them together.
//
// Invariants: what fails locally is thrown at once and again, on every rank, by the next commit; a
// commit either succeeds on every rank or throws the same Error on every rank and leaves what is
// committed as it was; nothing is written before all ranks agreed that they mean the same and that
// the blocks fit; an output that cannot be brought back to its last commit is broken: every later
// call fails. Who writes which file is the matter of the classes below this one.
//
// Size: half of its functions are the calls of a user's File, a quarter the questions that a class
// below answers. What is described, put and told are classes of their own (Description, Puts,
// CostReport).
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commit/output/cost_report.hpp"
#include "commit/output/description.hpp"
#include "commit/output/puts.hpp"
#include "commit/write/commit_queue.hpp"
#include "commit/write/file_commit.hpp"
#include "commit/write/pending_commit.hpp"
#include "exec/rows/row_scatter.hpp"
#include "exec/transport/transport.hpp"
#include "layout/formats.hpp"
#include "model/block.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// What a commit did on all ranks together.
struct Receipt {
  std::uint64_t step = 0;
  bool durable = false;
  std::string skipped = {};  ///< why the step was left out; empty: it was not
  /// Where the commit is still on its way; `durable` has no meaning then.
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
  /// On rank 0: what a user should know about how other writers are kept out; empty: nothing.
  virtual std::string lease_notice() const = 0;
  /// What is told of it, and to whom.
  CostReport& report() noexcept { return report_; }

  // -- local; failures are thrown here and, again, by the next commit on every rank ---------------
  std::uint32_t define(const model::Definition& definition);
  void set_attribute(const model::Attribute& attribute);
  void begin_step(double time);
  /// Rows of a varying variable in the step under way; before anything of it is put.
  void resize(std::uint32_t variable, std::uint64_t rows);
  /// Small blocks are copied at once; of others the memory must stay as it is until the commit.
  /// With `must_copy` none may be left: Error over_budget where there is no room.
  void put(const model::Block& block, bool must_copy = false);
  /// The quick way for a small part that follows the variable's last one: see SmallPuts::next.
  bool put_next(std::uint32_t variable, const Type& type, bool allow_overflow, const void* data,
                int rank, const std::uint64_t* start, const std::uint64_t* count) noexcept {
    return puts_.next(variable, type, allow_overflow, data, rank, start, count);
  }
  void put_rows(const exec::Rows& rows);
  void put_joined(const JoinedRows& rows);
  /// Remembers a failure of this rank: the next commit fails on every rank with it.
  void fail(const std::exception_ptr& failure) noexcept;
  /// The step under way has been left without its end, by mistake: close() will fail, on every
  /// rank, once it has closed. True for the first such step. Local.
  bool note_unended() noexcept;
  /// Drops the step under way and what was put since the last commit; was there any? Local.
  bool forget_uncommitted();
  /// Was a commit that failed, on every rank, the last call of all? Or is another rank lost?
  bool failed_together() noexcept {
    return failed_together_ || (queue() != nullptr && queue()->has_lost_others());
  }

  // -- collective ---------------------------------------------------------------------------------
  /// Where commits go on in the background: moves on what can be moved without waiting. Local.
  void poll();
  /// Waits for what is on its way, at most so many seconds; true if all is there. Throws what a
  /// commit met. Local.
  bool drain(double seconds);
  Receipt end_step();
  Receipt flush();
  void close();

 protected:
  /// transport and storage must outlive the object.
  Output(exec::Transport& transport, storage::Storage& storage, const std::string& path,
         const Options& options);

  /// What is there already; the same on every rank. `is_new`: even without any put there is
  /// something to commit.
  void adopt(const std::vector<model::Definition>& known, std::uint64_t steps, bool is_new,
             const layout::Format& format);
  exec::Transport& transport() const noexcept { return transport_; }
  storage::Storage& storage() const noexcept { return storage_; }
  const Options& options() const noexcept { return options_; }

  // -- what the class below does with it ----------------------------------------------------------
  /// Local: a definition or an attribute that was found right.
  virtual void accept(const model::Definition& definition) = 0;
  virtual void accept(const model::Attribute& attribute) = 0;
  /// Is the output in a state from which it cannot go on?
  virtual bool broken() const = 0;
  /// Would a last commit have something to do, though nobody put anything?
  virtual bool has_unfinished() const = 0;
  /// Collective. Writes and makes visible; returns the number of the step.
  virtual std::uint64_t carry_out(const FileCommit& commit) = 0;
  /// Collective. Everything committed so far is on stable storage.
  virtual void sync_all() = 0;
  /// Collective, after the last commit.
  virtual void finish() = 0;

  /// Where commits are on their way; null: they never are.
  virtual CommitQueue* queue() noexcept { return nullptr; }
  /// Collective: once a commit has failed on its way.
  virtual void recover() {}
  /// Steps that are there or on their way, after a failure.
  virtual std::uint64_t steps_left() const { return steps_; }
  /// Seconds that commits of this rank have waited for staging memory so far.
  virtual double waited_s() const { return 0; }

 private:
  void require_open() const;
  template <class Work>
  void local(Work&& work);
  template <class Work>
  auto together(Work&& work);

  Receipt commit(bool is_step, bool is_last);
  Receipt commit_or_skip();
  Receipt write(FileCommit& file);
  void put_lengths(bool is_step);
  std::vector<Touch> agree_on_touched(bool is_step, bool is_last);
  [[noreturn]] void refuse_divergent(bool is_step, bool is_last);
  bool has_work(const std::vector<Touch>& touched, bool is_step, bool is_last) const;
  void check_presence(const std::vector<Touch>& touched, bool is_step) const;
  void agree_on_the_way();
  void recover_here();
  void forget_step() noexcept;

  exec::Transport& transport_;
  storage::Storage& storage_;
  const std::string path_;
  Options options_;
  Description description_;
  Puts puts_;
  CostReport report_;

  bool has_news_ = true;  ///< is there something to commit even if nobody puts?
  bool in_step_ = false;
  double time_ = 0;
  std::uint64_t steps_ = 0;
  std::exception_ptr failure_;
  bool failed_together_ = false;
  bool closed_ = false;

  struct Unended {
    std::uint64_t step = 0;
    int rank = 0;
  };
  std::optional<Unended> unended_;  ///< the first step of this rank; after the last commit: of all
};

/// Collective. An output for the strategy that `options` name. Of a symbolic link it writes what
/// the link leads to (which need not be there), and the link stays.
std::unique_ptr<Output> open_output(exec::Transport& transport, storage::Storage& storage,
                                    const std::string& path, Opening opening,
                                    const Options& options);

}  // namespace sluice::commit
