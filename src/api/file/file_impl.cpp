#include "api/file/file_impl.hpp"

#include "api/messages.hpp"
#include "commit/read/latest_good.hpp"
#include "exec/transport/agree.hpp"
#include "model/numbering.hpp"

namespace sluice::detail {

FileImpl::FileImpl(const Comm& comm, const std::string& path, Mode mode, const Options& options)
    : FileImpl(context_on(comm, {path, purpose_of(mode)}, options), path, mode) {}

FileImpl::FileImpl(std::unique_ptr<exec::Transport> transport, const std::string& path, Mode mode,
                   const Options& options)
    : FileImpl(context_on(std::move(transport), {path, purpose_of(mode)}, options), path, mode) {}

FileImpl::FileImpl(OpenContext context, const std::string& path, Mode mode)
    : owned_(std::move(context.transport)),
      transport_(*owned_),
      storage_(std::move(context.storage)),
      path_(path) {
  open(mode, context.settings);
  if (context.uses_mpi) {
    at_finalize_.emplace(path_, [this] { close_at_finalize(); });
  }
}

FileImpl::FileImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                   const std::string& path, Mode mode, const Options& options)
    : transport_(transport), storage_(std::move(storage)), path_(path) {
  open(mode, same_settings(transport_, {path_, purpose_of(mode)}, options));
}

FileImpl::FileImpl(exec::Transport& transport, std::shared_ptr<storage::Storage> storage,
                   const std::string& path, Mode mode, const settings::Settings& settings,
                   commit::NeededParts needed)
    : transport_(transport), storage_(std::move(storage)), path_(path) {
  require_same(transport_, {path_, purpose_of(mode)}, settings);
  open(mode, settings, needed);
}

void FileImpl::open(Mode mode, const settings::Settings& settings, commit::NeededParts needed) {
  say_notice(transport_, settings);
  const Options& options = options_ = settings.options;
  const bool explains = settings.explain && transport_.rank() == 0;
  if (explains) {
    std::string text = settings::explain_options(path_, settings);
    text.pop_back();  // its last newline
    say(text);
  }
  if (mode == Mode::read) {
    input_ = std::make_unique<commit::Input>(transport_, *storage_, path_, options, needed);
    return;
  }
  const commit::Opening opening = mode == Mode::append   ? commit::Opening::append
                                  : mode == Mode::create ? commit::Opening::create
                                                         : commit::Opening::write;
  output_ = commit::open_output(transport_, *storage_, path_, opening, options);
  const auto say_of_file = [path = path_](const std::string& text) { say(path + ": " + text); };
  if (settings.explain) {
    output_->report().explain(say_of_file);
  }
  if (options.log != Log::off) {
    output_->report().report(say_of_file);
  }
  if (const std::string notice = output_->opening_notice(); speaks() && !notice.empty()) {
    say_of_file(notice);
  }
}

commit::Output& FileImpl::output() {
  require_here();
  if (!output_) {
    throw Error(Code::wrong_state, path_ + (input_ ? ": was opened for reading" : ": is closed"));
  }
  return *output_;
}

commit::Input& FileImpl::input() {
  require_here();
  if (!input_) {
    throw Error(Code::wrong_state,
                path_ + (output_ ? ": was opened for writing: close it, and open it in "
                                   "mode read (\"r\")"
                                 : ": is closed"));
  }
  return *input_;
}

void FileImpl::describe(std::uint32_t variable, bool is_new, const VariableOptions& options) {
  if (is_new) {
    described_[variable] = {options.unit, options.description};
    return;
  }
  const auto known = described_.find(variable);
  if (known == described_.end()) {
    return;  // of an appended file, whose attributes stay
  }
  const auto compare = [&](const char* what, const std::string& was, const std::string& is) {
    if (!is.empty() && is != was) {
      output().refuse({Code::exists, "define " + output().definitions()[variable].name +
                                         ": exists already " +
                                         (was.empty() ? std::string("without ") + what
                                                      : std::string("with ") + what + " " + was) +
                                         "; now it is defined with " + what + " " + is +
                                         ": define it alike, or choose another name"});
    }
  };
  compare("unit", known->second.unit, options.unit);
  compare("description", known->second.description, options.description);
}

Error FileImpl::foreign(Variable variable, const char* call) const {
  const std::string other = path_of_file(variable.file());
  return {Code::invalid_argument,
          std::string(call) + ": the variable is of " +
              (other.empty() ? "a file that is no longer open" : "another file, " + other) +
              ": give the one that define() or find() of this file gave"};
}

void FileImpl::close() {
  require_here();
  if (!is_open()) {
    throw Error(Code::wrong_state, path_ + ": is closed already");
  }
  if (output_ && output_->in_step()) {
    throw Error(Code::wrong_state, path_ + ": close: step " + model::number_text(output_->steps()) +
                                       " has not ended: end it first");
  }
  input_.reset();
  if (output_) {
    // Closed afterwards in any case: a failed close is reported once, and not retried.
    const std::unique_ptr<commit::Output> output = std::move(output_);
    output->close();
  }
}

void FileImpl::abandon(const std::string& why) {
  commit::Output& out = output();
  const bool in_step = out.in_step();
  out.fail(std::make_exception_ptr(
               Error(Code::wrong_state,
                     path_ + (in_step ? ": the step was abandoned" : ": the commit was abandoned") +
                         (why.empty() ? "" : ": " + why))),
           true);
  try {
    const commit::Receipt receipt = in_step ? out.end_step() : out.flush();
    if (!receipt.skipped.empty()) {
      return;
    }
  } catch (const Error& e) {
    if (exec::ranks_unreachable(e) || (in_step && out.lost_earlier())) {
      throw;
    }
    return;  // as intended, here and on the other ranks
  }
  throw Error(Code::internal, path_ + ": abandon: it was committed all the same");
}

/// Not by a commit that fails: the others may be in a call of another file, which this rank would
/// enter later.
void FileImpl::leave(const std::string& why) noexcept {
  if (output_ && !output_->closed() && is_here()) {
    exec::abandon(transport_, path_, "the file", why, output_->failure());
  }
}

void FileImpl::drop() noexcept {
  if (!is_here()) {
    return;
  }
  input_.reset();
  if (output_ && !output_->closed()) {
    transport_.retain();  // another rank may leave() later
  }
  output_.reset();
}

/// Collective: every rank that has the file open is in MPI_Finalize. Afterwards it needs MPI no
/// more. Memory that was put is not read: its owner may have been destroyed.
void FileImpl::close_at_finalize() noexcept {
  if (output_) {
    const std::string still_open = path_ + ": was still open at MPI_Finalize";
    bool all_are_here = false;
    try {
      try {
        transport_.barrier_within(exec::AtFinalize::longest_wait_s);
        all_are_here = true;
        if (output_->forget_uncommitted()) {
          output_->fail(std::make_exception_ptr(
              Error(Code::wrong_state,
                    still_open + ": what was put since the last commit is not in the file: close() "
                                 "it before MPI_Finalize")));
        }
        close();
        if (speaks()) {
          say(still_open + ", where it was closed: close() it before");
        }
      } catch (const std::exception& e) {
        // Rank 0 may be the one that is missing.
        if (speaks() || (!all_are_here && options_.log != Log::off && transport_.rank() == 1)) {
          say((all_are_here ? "" : still_open + ", and is not closed: ") + e.what());
        }
      }
    } catch (...) {
      // no memory for the message
    }
  }
  drop();
  storage_.reset();
}

void FileImpl::refresh() {
  const commit::Input& old = input();
  auto fresh = std::make_unique<commit::Input>(transport_, *storage_, path_, options_);
  fresh->keep_order_of(old);
  input_ = std::move(fresh);
}

std::optional<std::uint64_t> FileImpl::latest_good() {
  const commit::Input& open = input();
  return commit::latest_good(transport_, *storage_, open.path());
}

std::unique_ptr<FileImpl> open_on(exec::Transport& transport,
                                  std::shared_ptr<storage::Storage> storage,
                                  const std::string& path, Mode mode, const Options& options) {
  return std::make_unique<FileImpl>(transport, std::move(storage), path, mode, options);
}

std::unique_ptr<FileImpl> open_resolved_on(exec::Transport& transport,
                                           std::shared_ptr<storage::Storage> storage,
                                           const std::string& path, Mode mode,
                                           const settings::Settings& settings,
                                           commit::NeededParts needed) {
  return std::make_unique<FileImpl>(transport, std::move(storage), path, mode, settings, needed);
}

}  // namespace sluice::detail
