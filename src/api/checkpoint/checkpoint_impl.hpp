// What stands behind sluice::Checkpoint: a File of steps, of which each is a checkpoint.
//
// Invariants: what every rank answers is agreed on, so that no rank saves alone; a file that failed
// is closed and opened anew by the next save; what restore() has rejected is dropped by the first
// save, not before; the environment and sluice.toml are read once, and nothing overrides what the
// checkpoint itself sets of its file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/checkpoint/own_values.hpp"
#include "api/checkpoint/schedule.hpp"
#include "api/checkpoint/scratch.hpp"
#include "api/checkpoint/state.hpp"
#include "api/checkpoint/stop_signals.hpp"
#include "api/file/file_impl.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/at_finalize.hpp"
#include "sluice/checkpoint.hpp"
#include "storage/own_process.hpp"

namespace sluice::detail {

/// Size: what a run has registered, when it is due and what became of it, under one agreement.
class CheckpointImpl {
 public:
  /// Collective over `comm`, which is duplicated.
  CheckpointImpl(const Comm& comm, const std::string& path, const CheckpointOptions& options);
  /// The same over a transport that it keeps.
  CheckpointImpl(std::unique_ptr<exec::Transport> transport, const std::string& path,
                 const CheckpointOptions& options);
  /// The same over a transport of the caller's, which must outlive it (tests).
  CheckpointImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                 const std::string& path, const CheckpointOptions& options);

  void add(Registered thing) {
    require_open("register");
    state_.add(std::move(thing), has_saved_);
  }
  void spoil(const std::string& name, const std::exception_ptr& why) { state_.spoil(name, why); }
  Restored restore();
  bool due();
  bool ending() const noexcept { return ending_; }
  Saved save(double time);
  bool drain(double seconds);
  void close();
  /// For a rank that an exception makes give it up: the next collective call of the others fails
  /// with `why`, also where they wait in it already. Only drop() may follow. Local.
  void leave(const std::string& why = {}) noexcept {
    if (is_open() && is_here()) {
      exec::abandon(*transport_, path_, "the checkpoint", why);
    }
  }
  /// Closes without a word to other ranks. Local.
  void drop() noexcept;
  bool is_here() const noexcept { return process_.is_here(); }
  bool is_open() const noexcept { return transport_ != nullptr; }
  bool unwinds() const noexcept { return std::uncaught_exceptions() > exceptions_; }
  bool speaks() const;

 private:
  CheckpointImpl(OpenContext context, const std::string& path, const CheckpointOptions& options);
  void begin(settings::Settings settings);
  void require_open(const char* call) const;
  std::unique_ptr<FileImpl> open(Mode mode, const Options& options,
                                 commit::NeededParts needed = commit::NeededParts::all);
  void open_to_save();
  bool open_to_append();
  void adopt(std::unique_ptr<FileImpl> impl);
  Options options_to_save() const;
  void begin_anew();
  void require_replaceable();
  bool holds_other_things();
  Restored try_restore();
  bool is_there_after(const std::function<bool()>& wait);
  std::string settle();
  void write(double time, double wall_s);
  void write_or_reopen(double time, double wall_s);
  void lose_file() noexcept;
  commit::PartsOutput& parts();
  bool wait_for_disk(double seconds);
  void drain_last(double seconds);
  void finish_drain_if_done(bool is_done);
  void drain_scratch(double seconds, const char* remedy);
  void say_of_file(const std::string& text) const;

  const storage::OwnProcess process_;
  std::unique_ptr<exec::Transport> owned_;
  exec::Transport* transport_;  ///< nullptr: closed
  std::shared_ptr<storage::Storage> storage_;
  std::string path_;             ///< absolute, of rank 0's current folder when it began
  CheckpointOptions options_;    ///< `file`: the effective ones
  settings::Settings settings_;  ///< of the file, without what the checkpoint sets
  State state_;
  std::optional<Schedule> schedule_;  ///< rank 0's counts
  std::optional<StopSignals> signals_;
  bool ending_ = false;

  FileImpl* file_impl_ = nullptr;  ///< of file_
  std::unique_ptr<File> file_;     ///< nullptr: not open for writing
  std::vector<Variable> variables_;
  OwnValues own_;
  bool goes_on_ = false;  ///< behind what is in the file
  bool went_on_ = false;  ///< the same before the last save
  bool has_saved_ = false;
  bool may_replace_ = false;       ///< what is at the path holds checkpoints, or is this run's
  std::string not_restored_;       ///< why the last restore() failed
  std::int64_t after_step_ = -1;   ///< later ones are dropped when it is opened; -1: none
  std::uint64_t last_number_ = 0;  ///< of the newest checkpoint that is, or was, in the file
  std::optional<Ticket> on_its_way_;
  std::optional<Scratch> scratch_;

  int exceptions_ = std::uncaught_exceptions();
  std::optional<exec::AtFinalize> at_finalize_;  ///< where it uses MPI
};

}  // namespace sluice::detail
