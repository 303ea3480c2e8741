// What a rank says of its output, whatever becomes of it: definitions, attributes, blocks and rows,
// collected until the ranks commit them together.
//
// Invariants: what fails locally is thrown at once and again, on every rank, by the next commit; a
// commit either succeeds on every rank or throws the same Error on every rank and leaves what is
// committed as it was; nothing is written before all ranks agreed that they mean the same and that
// the blocks fit; an output that cannot be brought back to its last commit is broken: every later
// call fails. Who writes which file is the matter of the classes below this one.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commit/output/names.hpp"
#include "commit/output/small_puts.hpp"
#include "commit/output/step_log.hpp"
#include "commit/write/file_commit.hpp"
#include "commit/write/output_stats.hpp"
#include "commit/write/pending_commit.hpp"
#include "exec/rows/row_scatter.hpp"
#include "exec/transport/disagree.hpp"
#include "exec/transport/transport.hpp"
#include "layout/formats.hpp"
#include "model/block.hpp"
#include "plan/tuner.hpp"
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
  const std::vector<model::Definition>& definitions() const noexcept { return definitions_; }
  std::uint64_t steps() const noexcept { return steps_; }
  bool in_step() const noexcept { return in_step_; }
  const layout::Format& format() const noexcept { return *format_; }
  /// On rank 0: what a user should know about how other writers are kept out; empty: nothing.
  virtual std::string lease_notice() const = 0;
  /// Of a file that is there and keeps no names: its variable answers to every name until define()
  /// gives it one.
  bool is_nameless() const noexcept { return is_nameless_; }
  /// The shape of a variable in the step under way.
  model::Dims shape_of(std::uint32_t variable) const;

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
    return small_puts_.next(variable, type, allow_overflow, data, rank, start, count);
  }
  void put_rows(const exec::Rows& rows);
  /// `print` (called on rank 0) will get one line about the first commit that has data, before
  /// anything of it is written. On every rank or on none.
  void explain(std::function<void(const std::string&)> print) { explain_ = std::move(print); }
  /// Why it comes to one file or several, where that was chosen: told with the first commit.
  void explain_files(std::string reason) { files_reason_ = std::move(reason); }
  /// `print` (called on rank 0) gets what the option `log` asks for. On every rank or on none.
  void report(std::function<void(const std::string&)> print) { report_ = std::move(print); }
  /// Remembers a failure of this rank: the next commit fails on every rank with it.
  void fail(const std::exception_ptr& failure) noexcept;
  /// The step under way has been left without its end, by mistake: close() will fail, on every
  /// rank, once it has closed. True for the first such step. Local.
  bool note_unended() noexcept;
  /// Drops the step under way and what was put since the last commit; was there any? Local.
  bool forget_uncommitted();
  /// Was a commit that failed, on every rank, the last call of all? Or is another rank lost?
  bool failed_together() const noexcept { return failed_together_ || has_lost_others(); }

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

  // -- commits on their way, where the class below has such
  // -----------------------------------------
  virtual void move_on() {}
  /// Local: true where nothing is left on its way.
  virtual bool wait_at_most(double) { return true; }
  /// Local: until nothing is on its way.
  virtual void wait_for_all() {}
  /// What a commit met on its way, if this rank knows of one; then all ranks come to recover().
  virtual std::exception_ptr failure_on_way() { return nullptr; }
  /// Has the caller been told of that?
  virtual bool failure_was_reported() const { return false; }
  /// Collective.
  virtual void recover() {}
  /// Local: a wait for another rank has failed, so that no other should be as long.
  virtual void lose_others() noexcept {}
  virtual bool has_lost_others() const noexcept { return false; }
  virtual std::shared_ptr<PendingCommit> last_pending() const { return nullptr; }
  /// Steps that are there or on their way, after a failure.
  virtual std::uint64_t steps_left() const { return steps_; }
  /// Seconds that commits of this rank have waited for staging memory so far.
  virtual double waited_s() const { return 0; }

 private:
  struct Touch {
    bool blocks = false;
    bool rows = false;
  };

  std::uint32_t add(const model::Definition& definition);
  std::optional<std::uint32_t> find_same(const model::Definition& definition);
  void use_rows(std::uint32_t variable);
  std::uint64_t step_digest() const;
  [[noreturn]] void refuse_divergent(bool is_step, bool is_last);
  model::Definition step_definition(std::uint32_t variable) const;
  void put_lengths(bool is_step);
  void print_totals(const plan::Totals& mine);
  bool logs_line() const;
  void note_cost(const Receipt& receipt, bool is_step, double waited_s);
  void log_settled();
  void tell_choice();
  void tell_comparison();
  bool is_told() const { return options_.log == Log::line || options_.log == Log::steps; }
  void tell_costs();
  void touch_varying(std::vector<Touch>& touched, bool is_step) const;
  void require_open() const;
  template <class Work>
  void local(Work&& work);
  template <class Work>
  auto together(Work&& work);

  Receipt commit(bool is_step, bool is_last);
  void agree_on_the_way();
  void recover_here();
  Receipt commit_or_skip();
  bool has_work(const std::vector<Touch>& touched, bool is_step, bool is_last) const;
  std::vector<Touch> agree_on_touched(bool is_step, bool is_last);
  void check_presence(const std::vector<Touch>& touched, bool is_step) const;
  void scatter_all_rows(const std::vector<Touch>& touched);
  void check_decomposition(const std::vector<Touch>& touched);
  void forget_step() noexcept;
  std::uint64_t puts_signature() const;

  exec::Transport& transport_;
  storage::Storage& storage_;
  std::string path_;
  Options options_;

  const layout::Format* format_ = nullptr;
  std::vector<model::Definition> definitions_;
  Names names_;                 ///< of the definitions; none of one that has none yet
  bool is_nameless_ = false;    ///< the appended variable has not been given its name yet
  std::vector<bool> has_rows_;  ///< by variable: something was put, so its rows are settled
  std::vector<std::uint64_t> row_counts_;  ///< by variable: of the step under way, if it is varying
  std::uint64_t description_digest_ = 0;   ///< of all definitions and attributes in order
  std::vector<exec::Said> said_;  ///< those since the ranks last agreed on the digest, in words
  bool goes_on_ = false;          ///< what it writes stands behind what was there
  bool has_news_ = true;          ///< is there something to commit even if nobody puts?

  bool in_step_ = false;
  double time_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<model::Block> blocks_;
  SmallPuts small_puts_{options_.budget_bytes};
  std::vector<exec::Rows> rows_;
  exec::RowScatter row_scatter_{transport_};
  std::exception_ptr failure_;
  std::function<void(const std::string&)> explain_;
  std::string files_reason_;  ///< empty: there was no choice, or it was told
  std::function<void(const std::string&)> report_;
  OutputStats stats_;
  plan::Tuner tuner_;
  std::unique_ptr<StepLog> log_;  ///< rank 0, if asked for
  bool log_has_ended_ = false;    ///< it could not be written

  // What the ranks agreed on when the puts of one of them last differed from those before.
  std::uint64_t puts_signature_ = 0;  ///< of this rank's
  std::uint64_t puts_number_ = 0;     ///< counts how often they differed; the same on every rank
  std::vector<Touch> touched_;        ///< which variables anybody put
  std::uint64_t checked_number_ = 0;  ///< the puts that were found without overlaps and holes
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
