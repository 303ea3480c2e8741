#include "api/checkpoint/checkpoint_impl.hpp"

#include <algorithm>
#include <utility>

#include "api/checkpoint/checkpoint_options.hpp"
#include "api/checkpoint/checkpoint_paths.hpp"
#include "api/checkpoint/failures.hpp"
#include "api/checkpoint/restoring.hpp"
#include "api/messages.hpp"
#include "model/clock.hpp"

namespace sluice::detail {

CheckpointImpl::CheckpointImpl(const Comm& comm, const std::string& path,
                               const CheckpointOptions& options)
    : CheckpointImpl(context_on(comm, request_of(path, options), options.file), path, options) {}

CheckpointImpl::CheckpointImpl(std::unique_ptr<exec::Transport> transport, const std::string& path,
                               const CheckpointOptions& options)
    : CheckpointImpl(context_on(std::move(transport), request_of(path, options), options.file),
                     path, options) {}

CheckpointImpl::CheckpointImpl(OpenContext context, const std::string& path,
                               const CheckpointOptions& options)
    : owned_(std::move(context.transport)),
      transport_(owned_.get()),
      storage_(std::move(context.storage)),
      path_(path),
      options_(options) {
  begin(std::move(context.settings));
  if (context.uses_mpi) {
    at_finalize_.emplace(path_, [this] {
      if (!is_open()) {
        return;
      }
      try {
        transport_->barrier_within(exec::AtFinalize::longest_wait_s);
        close();
      } catch (const std::exception& e) {
        say_of_file(std::string("was still open at MPI_Finalize: ") + e.what());
      }
      drop();
    });
  }
}

CheckpointImpl::CheckpointImpl(exec::Transport& transport,
                               std::shared_ptr<storage::Storage> storage, const std::string& path,
                               const CheckpointOptions& options)
    : transport_(&transport), storage_(std::move(storage)), path_(path), options_(options) {
  begin(same_settings(transport, request_of(path, options), options.file));
}

/// Collective.
void CheckpointImpl::begin(settings::Settings settings) {
  settings_ = std::move(settings);
  options_.file = settings_.options;
  const auto refused = exec::failure_of([&] {
    check_options(path_, options_);
    state_.keep_in(format_for(path_, options_, *storage_));
    if (!options_.scratch.empty()) {
      scratch_.emplace(*transport_, storage_, path_, options_.scratch, options_.file,
                       options_.keep);
    }
  });
  complete_paths(*transport_, *storage_, path_, options_.file.parts_dir,
                 scratch_ ? &*scratch_ : nullptr, exec::failures_at_root(*transport_, 0, refused));
  const EndOfJob end = end_of_job(options_, wall_clock_s());
  if (!end.ignored.empty()) {
    say_of_file(end.ignored);
  }
  schedule_.emplace(options_, transport_->nodes(), end.time_s, model::now_s());
}

void CheckpointImpl::require_open(const char* call) const {
  process_.require(path_);
  if (!is_open()) {
    throw Error(Code::wrong_state, path_ + ": " + call + ": the checkpoint is closed");
  }
}

bool CheckpointImpl::speaks() const {
  return transport_ != nullptr && transport_->rank() == 0 && options_.file.log != Log::off;
}

void CheckpointImpl::say_of_file(const std::string& text) const {
  if (speaks()) {
    say(path_ + ": " + text);
  }
}

std::unique_ptr<FileImpl> CheckpointImpl::open(Mode mode, const Options& options,
                                               commit::NeededParts needed) {
  settings::Settings settings = settings_;
  settings.options = options;
  return open_resolved_on(*transport_, storage_, path_, mode, settings, needed);
}

// -- restoring ------------------------------------------------------------------------------------

Restored CheckpointImpl::restore() {
  require_open("restore");
  if (file_ || last_number_ != 0) {
    throw Error(Code::wrong_state, path_ +
                                       ": restore: after a save or another restore(): call it "
                                       "once, at the start");
  }
  try {
    Restored restored = try_restore();
    not_restored_.clear();
    return restored;
  } catch (const std::exception& e) {
    not_restored_ = e.what();
    throw;
  }
}

/// Collective.
Restored CheckpointImpl::try_restore() {
  if (!is_there(*transport_, *storage_, path_)) {
    return {};
  }
  std::optional<std::string> lost;
  if (options_.file.parts_dir.empty()) {
    lost = bring_home(*transport_, *storage_, path_, scratch_ ? scratch_->folder() : "");
  }
  std::unique_ptr<FileImpl> impl = open(Mode::read, options_.file, commit::NeededParts::of_steps);
  const commit::Input& input = impl->input();
  File in(std::move(impl));
  Taken taken = take_newest(*transport_, path_, state_, in, input);
  if (const std::string name = state_.left_out(in); !name.empty()) {
    say_of_file("holds " + name + ", which is not registered: a save will be refused");
  }
  goes_on_ = may_replace_ = true;
  after_step_ = taken.after_step;
  last_number_ = taken.last_number;
  if (lost) {
    taken.restored.newer.insert(taken.restored.newer.begin(), {0, *lost});
  }
  return std::move(taken.restored);
}

// -- saving ---------------------------------------------------------------------------------------

bool CheckpointImpl::due() {
  require_open("due");
  if (options_.signals && !signals_) {
    signals_.emplace();
  }
  if (file_) {
    file_->poll();  // between nodes a save goes on in calls only
  }
  using Verdict = Schedule::Verdict;
  auto verdict = static_cast<std::int64_t>(Verdict::not_due);
  const Verdict by_time = schedule_->ask(model::now_s(), wall_clock_s());
  if (transport_->rank() == 0 && !(by_time == Verdict::last && ending_)) {
    verdict = static_cast<std::int64_t>(by_time);
  }
  if (signals_ && signals_->came() && !ending_) {
    verdict = static_cast<std::int64_t>(Verdict::last);
  }
  std::int64_t answers[] = {verdict, scratch_ && !scratch_->is_done() ? 1 : 0};
  exec::for_file(path_, [&] { transport_->allreduce(answers, exec::Op::max); });
  verdict = answers[0];
  ending_ = ending_ || verdict == static_cast<std::int64_t>(Verdict::last);
  finish_drain_if_done(answers[1] == 0);
  return verdict != static_cast<std::int64_t>(Verdict::not_due);
}

/// Collective.
void CheckpointImpl::finish_drain_if_done(bool is_done) {
  if (scratch_ && scratch_->is_behind() && !scratch_->has_failed() && is_done && file_) {
    drain_scratch(0, "the next save tries again");
  }
}

/// Collective. A failure is reported, with `remedy`.
void CheckpointImpl::drain_scratch(double seconds, const char* remedy) {
  try {
    scratch_->finish(parts(), seconds);
  } catch (const Error& e) {
    if (exec::ranks_unreachable(e)) {
      throw;
    }
    say_of_file("checkpoint " + std::to_string(last_number_) + " is not drained; " + remedy + ": " +
                e.what());
  }
}

commit::PartsOutput& CheckpointImpl::parts() {
  return dynamic_cast<commit::PartsOutput&>(file_impl_->output());
}

Options CheckpointImpl::options_to_save() const {
  Options options = options_.file;
  options.keep_last = options_.keep;
  return scratch_ ? scratch_->options(options) : options;
}

/// Collective.
void CheckpointImpl::adopt(std::unique_ptr<FileImpl> impl) {
  file_impl_ = impl.get();
  file_ = std::make_unique<File>(std::move(impl));
  if (options_.incremental) {
    parts().share_unchanged();
  }
}

/// Collective. False where what is there cannot be gone on with, and a new file has to be begun.
bool CheckpointImpl::open_to_append() {
  Options options = options_to_save();
  options.restart_after = after_step_;
  try {
    if (scratch_) {
      bring_home(*transport_, *storage_, path_, scratch_->folder());
    }
    adopt(open(Mode::append, options));
    if (scratch_) {
      scratch_->adopt(parts());
    }
  } catch (const Error& e) {
    // What a newer library wrote is not to be replaced.
    if (!is_damage(e.code()) || e.code() == Code::io || e.code() == Code::version) {
      throw;
    }
    say_of_file(std::string("begins anew with the next checkpoint: ") + e.what());
    return false;
  }
  after_step_ = -1;
  // Every checkpoint of a file has the same names: none is restored in part.
  const auto refused = exec::failure_of([&] { state_.require_all_of(*file_, path_); });
  std::int64_t has_more = state_.has_more(*file_) ? 1 : 0;
  exec::agree(*transport_, refused, {&has_more, 1});
  if (has_more != 0) {
    say_of_file("begins anew with the next checkpoint: it does not hold all that is registered");
    lose_file();
    return false;
  }
  return true;
}

/// Collective. What is damaged may be checkpoints of which parts are lost.
bool CheckpointImpl::holds_other_things() {
  Options options = options_.file;
  options.log = Log::off;
  try {
    File in(open(Mode::read, options));
    const bool is_ours = holds_checkpoints(in);
    in.close();
    return !is_ours;
  } catch (const Error& e) {
    if (!is_damage(e.code()) || e.code() == Code::io || e.code() == Code::version) {
      throw;
    }
    return e.code() == Code::format || e.code() == Code::truncated;
  }
}

/// Collective. Error wrong_state or exists where a first save would replace what nobody has asked
/// it to.
void CheckpointImpl::require_replaceable() {
  if (may_replace_ || !is_there(*transport_, *storage_, path_)) {
    return;
  }
  if (!not_restored_.empty()) {
    throw Error(Code::wrong_state,
                path_ + ": save: it would replace what restore() could not take: choose another " +
                    "name, or replace its checkpoints by a new Checkpoint whose first call is " +
                    "save(); restore() failed with: " + not_restored_);
  }
  if (holds_other_things()) {
    throw Error(Code::exists, path_ +
                                  ": save: it would replace a file that holds no checkpoints: "
                                  "choose another name, or remove the file");
  }
}

/// Collective. What is there stays until the first commit.
void CheckpointImpl::begin_anew() {
  require_replaceable();
  may_replace_ = true;
  adopt(open(Mode::write, options_to_save()));
}

void CheckpointImpl::open_to_save() {
  if (!file_ && !(goes_on_ && open_to_append())) {
    begin_anew();
  }
}

/// Collective. `wait` returns whether the checkpoint on its way is there. Where it was lost, the
/// next save opens the file anew.
bool CheckpointImpl::is_there_after(const std::function<bool()>& wait) {
  std::int64_t late = 1;
  const auto failure = exec::failure_of([&] { late = wait() ? 0 : 1; });
  try {
    exec::agree(*transport_, failure, {&late, 1});
  } catch (const Error& e) {
    if (exec::ranks_unreachable(e)) {
      throw;
    }
    goes_on_ = went_on_;
    lose_file();
    throw Error(e.code(), path_ + ": checkpoint " + std::to_string(last_number_) +
                              " was lost on its way to the disk: " + e.what());
  }
  if (late == 0) {
    on_its_way_.reset();
  }
  return late == 0;
}

/// Collective. Waits for the checkpoint before. Why it was lost, unless that is an error.
std::string CheckpointImpl::settle() {
  try {
    if (on_its_way_) {
      is_there_after([&] { return on_its_way_->wait(), true; });
    }
    return {};
  } catch (const Error& e) {
    if (exec::ranks_unreachable(e) || options_.on_failed_save == OnFailedSave::stop) {
      throw;
    }
    if (speaks()) {
      say(e.what());
    }
    return e.what();
  }
}

/// Collective.
void CheckpointImpl::write(double time, double wall_s) {
  const std::uint64_t number = last_number_ + 1;
  const std::int32_t ranks = transport_->size();
  open_to_save();
  if (scratch_) {
    scratch_->finish(parts(), Scratch::forever_s);
  }
  const auto fails_together = [&](auto&& work) {
    const auto failure = exec::failure_of(work);
    if (failure) {
      file_impl_->output().fail(failure);  // of end(), on every rank
    }
    return failure != nullptr;
  };
  const bool undescribed = fails_together([&] {
    variables_ = state_.define(*file_, ranks);
    own_.define(*file_);
  });
  Step step = file_->begin_step({.time = time});
  if (!undescribed) {
    fails_together([&] {
      state_.put(step, variables_, transport_->rank());
      if (transport_->rank() == 0) {
        own_.put(step, number, ranks, wall_s);
      }
    });
  }
  const Ticket ticket = step.end();
  if (ticket.skipped()) {
    throw Error(Code::io, path_ + ": save: it was left out, as on_error = skip_step asks for");
  }
  last_number_ = number;
  has_saved_ = true;
  went_on_ = std::exchange(goes_on_, true);
  on_its_way_ = ticket;
  if (scratch_) {
    scratch_->begin(parts());
  }
}

/// Collective: where the failure was every rank's, so is this. Not a close, which would commit: a
/// file without a checkpoint must not take the place of one that has some.
void CheckpointImpl::lose_file() noexcept {
  variables_.clear();
  on_its_way_.reset();
  if (scratch_) {
    scratch_->stop();
  }
  if (file_impl_ != nullptr) {
    file_impl_->drop();
  }
  file_impl_ = nullptr;
  file_.reset();
  try {
    transport_->barrier();  // nobody opens it while another still has it
  } catch (const std::exception&) {
    // the next call says so
  }
}

/// Collective. What the commit before left half done in place is found by this one, and mended by
/// opening the file.
void CheckpointImpl::write_or_reopen(double time, double wall_s) {
  const bool was_open = file_ != nullptr;
  try {
    write(time, wall_s);
  } catch (const Error& e) {
    if (!was_open || exec::ranks_unreachable(e) || !is_of_storage(e.code())) {
      throw;
    }
    lose_file();
    write(time, wall_s);
  }
}

Saved CheckpointImpl::save(double time) {
  require_open("save");
  const double began_s = model::now_s();
  Saved saved;
  try {
    saved.lost = settle();
    write_or_reopen(time, wall_clock_s());
    saved.number = last_number_;
    if (ending_) {
      constexpr double grace_s = 20;  // Slurm kills 30 s after its signal, by default
      drain_last(schedule_->left_s(wall_clock_s(), grace_s));
    }
  } catch (const Error& e) {
    if (exec::ranks_unreachable(e)) {
      throw exec::naming_file(e, path_);
    }
    goes_on_ = on_its_way_ ? went_on_ : goes_on_;
    lose_file();
    if (options_.on_failed_save == OnFailedSave::stop) {
      throw;
    }
    saved.number = 0;
    saved.why = e.what();
    say_of_file("no checkpoint was saved: " + saved.why);
  }
  std::int64_t elapsed_ns = model::to_ns(model::now_s() - began_s);
  transport_->allreduce({&elapsed_ns, 1}, exec::Op::max);
  saved.seconds = model::from_ns(elapsed_ns);
  saved ? schedule_->note_saved(model::now_s(), saved.seconds)
        : schedule_->note_failed(model::now_s());
  return saved;
}

/// Collective. False if the last checkpoint is still on its way to the disk after `seconds`.
bool CheckpointImpl::wait_for_disk(double seconds) {
  return !on_its_way_ || is_there_after([&] { return file_->drain(seconds); });
}

bool CheckpointImpl::drain(double seconds) {
  require_open("drain");
  const double end_s = model::now_s() + seconds;
  return wait_for_disk(seconds) &&
         (!scratch_ || !file_ || scratch_->finish(parts(), end_s - model::now_s()));
}

/// Collective, in the last save. Where the scratch cannot be drained, the checkpoint is there all
/// the same, and close() tries again.
void CheckpointImpl::drain_last(double seconds) {
  const double end_s = model::now_s() + seconds;
  if (wait_for_disk(seconds) && scratch_ && file_) {
    drain_scratch(end_s - model::now_s(), "close() tries again");
  }
}

void CheckpointImpl::close() {
  require_open("close");
  auto failure = exec::failure_of([&] {
    if (file_ && scratch_) {
      scratch_->finish(parts(), Scratch::forever_s);
    }
  });
  const std::unique_ptr<File> file = std::move(file_);
  file_impl_ = nullptr;
  const auto not_closed = exec::failure_of([&] {
    if (file) {
      file->close();
    }
  });
  failure = failure ? failure : not_closed;
  drop();
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void CheckpointImpl::drop() noexcept {
  if (!is_here()) {
    return;
  }
  signals_.reset();
  scratch_.reset();
  if (file_impl_ != nullptr) {
    file_impl_->drop();
  }
  file_impl_ = nullptr;
  file_.reset();
  transport_ = nullptr;
  owned_.reset();
  storage_.reset();
}

}  // namespace sluice::detail
